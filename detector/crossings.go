package detector

import (
	"net/netip"
	"sync"
	"time"

	"edgeguard/internal/unsafetext"
	"edgeguard/rules"
	"edgeguard/shard"
)

// maxCrossings is how many crossings are remembered, about 150 bytes each.
// With more, one of them is forgotten for each that comes, and is reported twice
// if it goes on.
const maxCrossings = 1 << 16

// crossings remembers which crossings of the fleet's rules and of wide networks
// were reported. A count alone shows its crossing, since the event before it was
// under the limit; a total that another node brought over it does not, and
// returns at each push. That of a network of many goes over and under all
// day. Safe for concurrent use; asked only at a crossing.
type crossings struct {
	mu   sync.Mutex             // guards seen
	seen map[crossingKey]uint32 // until which second it is the same crossing
}

type crossingKey struct {
	rule   string // its name, so that a reload reports nothing twice
	prefix netip.Prefix
	with   uint64
}

func newCrossings() *crossings { return &crossings{seen: make(map[crossingKey]uint32)} }

// noteNew notes a crossing that is seen at sec, and reports whether it was not
// seen in the window before.
func (x *crossings) noteNew(key crossingKey, sec uint32, window time.Duration) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	until, known := x.seen[key]
	if !known && len(x.seen) >= maxCrossings {
		for other := range x.seen {
			delete(x.seen, other)
			break
		}
	}
	x.seen[key] = sec + uint32(window/time.Second)
	return !known || sec >= until
}

// noteOngoing reports whether a crossing was seen in the window before, and notes that
// it goes on if so.
func (x *crossings) noteOngoing(key crossingKey, sec uint32, window time.Duration) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	until, known := x.seen[key]
	if !known || sec >= until {
		return false
	}
	x.seen[key] = sec + uint32(window/time.Second)
	return true
}

// forget forgets one crossing.
func (x *crossings) forget(key crossingKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.seen, key)
}

// clear forgets every key inside prefixes, and those around one.
func (x *crossings) clear(set prefixSet) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for key := range x.seen {
		if set.overlaps(key.prefix) {
			delete(x.seen, key)
		}
	}
}

// sweep looks at n crossings, whichever they are, and forgets those that are
// over.
func (x *crossings) sweep(sec uint32, n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, until := range x.seen {
		if n--; n < 0 {
			return
		}
		if sec >= until {
			delete(x.seen, key)
		}
	}
}

// isNews reports whether a proven crossing is news: that of a key always without a fleet,
// where the count alone shows it.
func (x *excess) isNews(o *occasion, m *meter) bool {
	r := &o.d.rules[x.rule]
	if x.width == nil && (o.d.config.Fleet == nil || r.Scope != rules.ScopeFleet) {
		return true
	}
	var buf [attributesSize]byte
	with, _ := m.AppendAttributes(o.event, buf[:0])
	key := crossingKey{rule: r.Name, prefix: x.prefix}
	if len(m.Attributes) > 0 {
		key.with = shard.Fingerprint(unsafetext.String(with), m.Everybody)
	}
	return o.d.crossings.noteNew(key, o.nowSec, m.Window)
}
