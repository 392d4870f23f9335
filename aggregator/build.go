package aggregator

import (
	"time"

	"edgeguard/ring"
)

// build makes the push of one suspect; false if there is nothing that could be
// pushed. No lock is held.
func (n *Node) build(id suspectID, s *suspect, now time.Time, whole bool, room []uint16) (Push, []uint16, bool) {
	m := &n.meters[id.meter]
	ahead := n.ahead(m) // before m.since is read: SetOffset writes them the other way round
	counts, head, ok := m.read(id, m.slot(now))
	if !ok {
		return Push{}, room, false
	}
	oldest := int64(head) - (ring.Slots - 1)
	first := max(int64(m.since.Load()), int64(s.floor), oldest, 0)
	p := Push{Key: n.key(id), Width: m.Width, head: head, sent: s.sent, Whole: whole || s.acked == 0}
	for i, c := range counts {
		if oldest+int64(i) >= first {
			p.Sum += uint32(c)
		}
	}
	if p.Sum == 0 {
		return Push{}, room, false
	}
	from := first
	if !p.Whole {
		from = min(max(first, int64(s.acked)), int64(head))
	}
	for from < int64(head) && counts[from-oldest] == 0 {
		from++
	}
	at := len(room)
	room = append(room, counts[from-oldest:]...)
	p.Counts = room[at:len(room):len(room)]
	p.First = uint32(from + ahead)
	return p, room, true
}
