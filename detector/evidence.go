package detector

import (
	"net/netip"
	"time"

	"edgeguard"
)

// Evidence returns what is known of a crossing that made a block; false if the rule
// is no longer there. Slots is what this node counts at this moment. Where this node
// alone counted, it is cut to the count of the crossing: a batch is counted before
// its first event is judged, so that the newest slots can hold what came after.
func (d *Detector) Evidence(x *edgeguard.Crossing) (out edgeguard.Evidence, ok bool) {
	i, ok := d.named[x.Rule]
	if !ok {
		return out, false
	}
	from := d.source(&d.rules[i], x.Key.Prefix)
	out = edgeguard.Evidence{
		Prefix: x.Key.Prefix, With: x.Key.With, Rule: x.Rule, Node: x.Node, Since: x.Time, Until: x.Until,
		Count: x.Count, Limit: x.Limit, Threshold: x.Threshold, Fleet: x.Fleet, Width: from.meter.Width,
	}
	out.Slots = from.slots(x.Key.Prefix.Addr(), x.Key.With, x.Time)
	if !x.Fleet {
		cut(&out.Slots, x.Count)
	}
	return out, true
}

// slots returns the slots of the window that ends at now, the oldest first.
func (s *source) slots(addr netip.Addr, with string, now time.Time) [edgeguard.Slots]uint16 {
	slots, _ := s.table.SlotsOf(addr, with, s.meter.slotAt(seconds(now)))
	return slots
}

// cut takes what the slots have over a count off the newest ones.
func cut(slots *[edgeguard.Slots]uint16, count uint32) {
	over := -int64(count)
	for _, n := range slots {
		over += int64(n)
	}
	for i := len(slots) - 1; i >= 0 && over > 0; i-- {
		n := min(over, int64(slots[i]))
		slots[i] -= uint16(n)
		over -= n
	}
}
