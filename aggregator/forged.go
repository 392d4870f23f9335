package aggregator

import (
	"time"

	"edgeguard/ring"
)

// holdsMore reports whether an answer shows counts in this node's name that are
// not this node's, if it is to the newest push: else what was counted since may
// be stored. Redis holds more of a node than it claims in an honest fleet, too,
// where
//
//   - the clock stepped within the window: slots have numbers for the second
//     time;
//   - an unblock is on its way to Redis;
//   - memory was full within the window: the key may have been evicted;
//   - the boot was drawn within the window while the node had counts: until then
//     another process may have pushed under it.
//
// The caller holds the lock of the suspect's part.
func (n *Totals) holdsMore(s *suspect, m *meter, p *Push, a Answer) bool {
	return a.Status&StatusMore != 0 && !m.partial(p.head) &&
		s.clearedBefore <= n.localSlot(m, a.ClearedBefore) &&
		!within(m.redrawn.Load(), p.head) && !m.short(p.head)
}

// within reports whether a slot is in the window that ends at head, or after it.
func within(slot, head uint32) bool { return slot != 0 && int64(slot) > int64(head)-ring.Slots }

// short reports whether the table may have less of a key than was pushed of it
// in the window that ends at head.
func (m *meter) short(head uint32) bool {
	m.noteLoss(head)
	return within(m.lostAt.Load(), head)
}

// noteLoss looks whether the table has evicted or merged keys since the last
// look.
func (m *meter) noteLoss(slot uint32) {
	s := m.Table.Stats()
	if lost := s.Evicted + s.Refused + s.Undercounted; m.lost.Swap(lost) != lost {
		m.lostAt.Store(slot)
	}
}

// nothing returns a reconcile of a key of which this node has no counts; false
// if it may not push the present slot yet.
func (n *Totals) nothing(id suspectID, s *suspect, now time.Time) (Push, bool) {
	m := &n.meters[id.meter]
	head := m.slotAt(now)
	p := Push{
		Key: n.keyOf(id), Width: m.Width, First: uint32(int64(head) + n.epochOffset(m)), Counts: []uint16{0},
		head: head, sent: s.sent,
	}
	return p, head >= max(m.since.Load(), s.clearedBefore) && !n.counts(id, now)
}
