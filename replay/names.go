package replay

import (
	"math/bits"

	"edgeguard"
	"edgeguard/rules"
	"edgeguard/shard"
)

// maxNames bounds how many keys' attributes a meter's names remember.
const maxNames = 1 << 16

// names remembers the attributes of keys, which a table has only as a
// fingerprint. A key is recorded each time its count passes a power of two, to
// keep the cost small. When there are too many, the half with the lowest counts
// is dropped: only high counts are worth showing.
type names struct {
	meter *rules.Meter
	known map[uint64]name
	least uint32 // lower counts are not remembered
}

type name struct {
	text  string
	count uint32
}

// remember stores the event's attributes if its count is a power of two.
func (n *names) remember(event *edgeguard.Event, count, cost uint32) {
	if len(n.meter.Attributes) == 0 || count < n.least || bits.Len32(count) == bits.Len32(count-min(cost, count)) {
		return
	}
	var buf [128]byte
	with, ok := n.meter.AppendAttributes(event, buf[:0])
	if !ok {
		return
	}
	if n.known == nil {
		n.known = make(map[uint64]name)
	}
	text := string(with)
	n.known[shard.Fingerprint(text, n.meter.Everybody)] = name{text, count}
	for len(n.known) >= maxNames {
		n.raise()
	}
}

// raise doubles the least count and forgets what is below it.
func (n *names) raise() {
	n.least = max(2, 2*n.least)
	for fingerprint, name := range n.known {
		if name.count < n.least {
			delete(n.known, fingerprint)
		}
	}
}
