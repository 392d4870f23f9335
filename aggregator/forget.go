package aggregator

import (
	"net/netip"
	"time"
)

// Forget applies an unblock: slots up to the one of the epoch's time at are no
// longer pushed, and the suspects that overlap prefix are dropped. It returns
// their keys, to be forgotten in Redis, too. The caller clears the detector's
// counts.
func (n *Totals) Forget(prefix netip.Prefix, at time.Time) []Key {
	if !prefix.IsValid() {
		return nil
	}
	prefix = prefix.Masked()
	for i := range n.meters {
		m := &n.meters[i]
		if m.Limit == 0 {
			continue
		}
		slot := n.localSlot(m, m.slot(at)+1)
		if key := m.prefix(prefix.Addr()); key.Bits() < prefix.Bits() {
			n.cleared.set(i, key, slot) // the key is wider: all of it is forgotten, as the detector does
		} else {
			n.cleared.set(i, prefix, slot)
		}
	}
	var keys []Key
	for i := range n.suspects {
		p := &n.suspects[i]
		p.mu.Lock()
		for id := range p.known {
			if id.prefix().Overlaps(prefix) {
				keys = append(keys, n.key(id))
				n.drop(p, id)
			}
		}
		p.tidy()
		p.mu.Unlock()
	}
	return keys
}

// Forgotten reports whether a key was unblocked after the epoch's slot head:
// then an answer to a push with that head no longer applies.
func (n *Totals) Forgotten(k Key, head uint32) bool {
	i, known := n.index[k.Meter]
	return !known || n.cleared.of(newSuspectID(i, k.Prefix, k.With)) > n.localSlot(&n.meters[i], head)
}
