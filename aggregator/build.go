package aggregator

import (
	"time"

	"edgeguard/ring"
)

// form is how much of a suspect a push holds.
type form uint8

const (
	changesOnly form = iota // what changed since the last acknowledged push
	fullPush                // all slots
	sumOnly                 // an empty slot: Redis compares the sum with what it stores
)

// build makes the push of one suspect; false if there is nothing to push. No
// lock is held.
func (n *Totals) build(id suspectID, s *suspect, now time.Time, as form, room []uint16) (Push, []uint16, bool) {
	m := &n.meters[id.meter]
	offset := n.epochOffset(m) // read before m.since: SetOffset writes them in the opposite order
	counts, head, ok := m.readSlots(id, m.slotAt(now))
	if !ok {
		return Push{}, room, false
	}
	oldest := int64(head) - (ring.Slots - 1)
	first := max(int64(m.since.Load()), int64(s.clearedBefore), oldest, 0)
	p := Push{Key: n.keyOf(id), Width: m.Width, head: head, sent: s.sent, base: base{(*ring.Counts)(&counts).Sum(), head}}
	for i, c := range counts {
		if oldest+int64(i) >= first {
			p.Sum += uint32(c)
		}
	}
	if p.Sum == 0 {
		return Push{}, room, false
	}
	// After a step of the clock, equal sums do not mean equal rings: what is
	// stored under old numbers would hide the loss of new counts.
	p.Full = as == fullPush || s.acked == 0 || m.partial(head)
	from, at := int64(head), len(room)
	switch {
	case p.Full:
		from = first
	case as == changesOnly:
		from = min(max(first, int64(s.acked)), int64(head))
	}
	for from < int64(head) && counts[from-oldest] == 0 {
		from++
	}
	if room = append(room, counts[from-oldest:]...); as == sumOnly && !p.Full {
		room[at] = 0
	}
	p.Counts = room[at:len(room):len(room)]
	for _, c := range p.Counts {
		p.added += uint32(c)
	}
	if s.base.at == head { // the same window
		p.added = min(p.added, p.base.told-min(p.base.told, s.base.told))
	}
	p.First = uint32(from + offset)
	return p, room, true
}
