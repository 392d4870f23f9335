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
	return n.forget(prefix, at, everyMeter)
}

// Pardon forgets, as Forget does, but only in meters that spare outages: a site failed.
func (n *Totals) Pardon(prefix netip.Prefix, at time.Time) []Key {
	return n.forget(prefix, at, sparesOutages)
}

func everyMeter(m *meter) bool    { return !m.Everybody }
func sparesOutages(m *meter) bool { return m.SparesOutages && !m.Everybody }

func (n *Totals) forget(prefix netip.Prefix, at time.Time, applies func(*meter) bool) []Key {
	if !prefix.IsValid() {
		return nil
	}
	prefix = prefix.Masked()
	n.mark(&n.cleared, prefix, applies, func(m *meter) uint32 { return n.localSlot(m, m.slotAt(at)+1) })
	var keys []Key
	for i := range n.suspects {
		p := &n.suspects[i]
		p.mu.Lock()
		for id := range p.known {
			if applies(&n.meters[id.meter]) && id.prefix().Overlaps(prefix) {
				keys = append(keys, n.keyOf(id))
				n.dropSuspect(p, id)
			}
		}
		p.rebuildList()
		p.mu.Unlock()
	}
	return keys
}

// Cleared says that the detector is about to forget, at now in local time, what it
// counted of a prefix that was unblocked. From then on Redis has more in this node's
// name than the node itself: an unblock covers the slots up to its own time, and what
// was counted after it and pushed before it arrived here stays.
func (n *Totals) Cleared(prefix netip.Prefix, now time.Time) { n.empty(prefix, now, everyMeter) }

// Pardoned notes the same of the meters that spare outages alone.
func (n *Totals) Pardoned(prefix netip.Prefix, now time.Time) { n.empty(prefix, now, sparesOutages) }

func (n *Totals) empty(prefix netip.Prefix, now time.Time, applies func(*meter) bool) {
	n.mark(&n.emptied, prefix.Masked(), applies, func(m *meter) uint32 { return m.slotAt(now) + 1 }) // the slot may end before it has
}

// mark sets the marks of a prefix, by meter.
func (n *Totals) mark(marks *cleared, prefix netip.Prefix, applies func(*meter) bool, slot func(*meter) uint32) {
	for i := range n.meters {
		m := &n.meters[i]
		if m.Limit == 0 || !applies(m) {
			continue
		}
		if key := m.prefix(prefix.Addr()); key.Bits() < prefix.Bits() {
			marks.setMark(i, key, slot(m)) // the key is wider: all of it is forgotten, as the detector does
		} else {
			marks.setMark(i, prefix, slot(m))
		}
	}
}

// Forgotten reports whether a key was unblocked after the epoch's slot head:
// then an answer to a push with that head no longer applies.
func (n *Totals) Forgotten(k Key, head uint32) bool {
	i, known := n.index[k.Meter]
	return !known || n.cleared.markOf(newSuspectID(i, k.Prefix, k.With)) > n.localSlot(&n.meters[i], head)
}
