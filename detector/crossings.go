package detector

import (
	"net/netip"
	"sync"
	"time"

	"edgeguard/rules"
	"edgeguard/shard"
)

// maxCrossings is how many crossings are remembered, about 150 bytes each.
// With more, one of them is forgotten for each that comes, and is told twice
// if it goes on.
const maxCrossings = 1 << 16

// crossings remembers which crossings of the fleet's rules were told. A count
// alone shows its crossing, since the event before it was under the limit; a
// total that another node brought over it does not, and is heard again at each
// push. Safe for concurrent use; asked only at a crossing.
type crossings struct {
	mu    sync.Mutex
	known map[crossingKey]uint32 // until which second it is the same crossing
}

type crossingKey struct {
	rule   string // its name, so that a reload tells nothing twice
	prefix netip.Prefix
	with   uint64
}

func newCrossings() *crossings { return &crossings{known: make(map[crossingKey]uint32)} }

// first notes a crossing that is seen at sec, and reports whether it was not
// seen in the window before.
func (x *crossings) first(key crossingKey, sec uint32, window time.Duration) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	until, known := x.known[key]
	if !known && len(x.known) >= maxCrossings {
		for other := range x.known {
			delete(x.known, other)
			break
		}
	}
	x.known[key] = sec + uint32(window/time.Second)
	return !known || sec >= until
}

// clear forgets every key inside prefix, and those around it.
func (x *crossings) clear(prefix netip.Prefix) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for key := range x.known {
		if inside(key.prefix, prefix) || inside(prefix, key.prefix) {
			delete(x.known, key)
		}
	}
}

// sweep looks at n crossings, whichever they are, and forgets those that are
// over.
func (x *crossings) sweep(sec uint32, n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, until := range x.known {
		if n--; n < 0 {
			return
		}
		if sec >= until {
			delete(x.known, key)
		}
	}
}

// first reports whether a proven crossing of rule i is news: always without a
// fleet, where the count alone tells.
func (c *decision) first(m *meter, i int) bool {
	r := &c.d.rules[i]
	if c.d.config.Fleet == nil || r.Scope != rules.ScopeFleet {
		return true
	}
	var buf [attributesSize]byte
	with, _ := m.With(c.event, buf[:0])
	key := crossingKey{rule: r.Name, prefix: m.Key(c.event.Addr, "").Prefix}
	if len(m.Attributes) > 0 {
		key.with = shard.Fingerprint(view(with))
	}
	return c.d.crossings.first(key, c.nowSec, m.Window)
}
