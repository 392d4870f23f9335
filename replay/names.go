package replay

import (
	"math/bits"

	"edgeguard"
	"edgeguard/rules"
	"edgeguard/shard"
)

// maxNames bounds how many keys' attributes a meter's names remember.
const maxNames = 1 << 16

// names remembers the attributes of keys, which a table knows only by
// fingerprint. A key is noted each time its count passes a power of two, so
// that the cost is small, and when there are too many the quietest half goes:
// the keys worth showing are those with high counts.
type names struct {
	meter *rules.Meter
	known map[uint64]name
	floor uint32 // lower counts are not noted
}

type name struct {
	text  string
	count uint32
}

// note remembers the event's attributes if its count calls for it.
func (n *names) note(event *edgeguard.Event, count, cost uint32) {
	if len(n.meter.Attributes) == 0 || count < n.floor || bits.Len32(count) == bits.Len32(count-min(cost, count)) {
		return
	}
	var buf [128]byte
	with, ok := n.meter.With(event, buf[:0])
	if !ok {
		return
	}
	if n.known == nil {
		n.known = make(map[uint64]name)
	}
	text := string(with)
	n.known[shard.Fingerprint(text)] = name{text, count}
	for len(n.known) >= maxNames {
		n.raise()
	}
}

// raise doubles the floor and forgets what is under it.
func (n *names) raise() {
	n.floor = max(2, 2*n.floor)
	for fingerprint, name := range n.known {
		if name.count < n.floor {
			delete(n.known, fingerprint)
		}
	}
}
