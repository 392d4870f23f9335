package aggregator

import (
	"time"

	"edgeguard/ring"
)

// A total is no more than what somebody wrote into Redis. So the others' part, as
// answers have it, brings a key up to its limit and not over it. Over it go this
// node's own counts, and what a split proves: the counts of nodes that sent
// heartbeats, in the window of one slot. The split is read when an answer says that
// the key is over the limit, and not before: a key that is far from it costs
// nothing. Within the window of that slot counts only grow, so what was proven
// is a floor; what will be left of it in a later one is [remainder].

// mostRefuted bounds the wait for another look at a key: 2, 4 and 8 seconds.
const mostRefuted = 3

// allowed returns how much of the others' part may be added to a count in the
// window that ends at slot.
// floor is what is proven in that window by a split of another one.
func (s *suspect) allowed(count, limit, slot, floor uint32) uint32 {
	if s.restAt != slot {
		return floor
	}
	if count+s.rest <= limit { // each at most 60 times 65,535
		return max(s.rest, floor)
	}
	return max(s.proof(slot), limit-min(count, limit), floor)
}

// proof returns how much of the others' part is proven in the window that ends at
// slot.
func (s *suspect) proof(slot uint32) uint32 {
	if s.provenAt != slot {
		return 0
	}
	return min(s.proven, s.rest)
}

// AskSplit reports whether the split of a key over the limit is to be read now, and
// whether that would be the first time. One that proved too little is read again
// after some seconds; so is one of which only the proof is to be renewed.
func (n *Totals) AskSplit(k Key, renew bool, now time.Time) (due, first bool) {
	id, ok := n.suspectOf(k)
	if !ok {
		return false, false
	}
	part := n.partOf(id)
	part.mu.Lock()
	defer part.mu.Unlock()
	s, known := part.known[id]
	wait := int64(0)
	if renew {
		wait = 1
	}
	if s.refuted > 0 {
		wait = 1 << s.refuted
	}
	if !known || s.asked != 0 && now.Unix()-int64(s.asked) < wait {
		return false, false
	}
	first = s.asked == 0
	s.asked = uint32(now.Unix())
	part.known[id] = s
	return true, first
}

// Explained says that what proved too little of a key before may prove more now, so that
// its split is read at once.
func (n *Totals) Explained(k Key) {
	id, ok := n.suspectOf(k)
	if !ok {
		return
	}
	part := n.partOf(id)
	part.mu.Lock()
	defer part.mu.Unlock()
	if s, known := part.known[id]; known {
		s.refuted = 0
		part.known[id] = s
	}
}

// Prove applies what a split proves: how much nodes, this one included, counted of
// a key in the window that ends at the epoch's slot head. It reports whether that
// is over the lowest limit of the meter's rules.
func (n *Totals) Prove(k Key, head, counted uint32) (over bool) {
	id, ok := n.suspectOf(k)
	if !ok {
		return false
	}
	m := &n.meters[id.meter]
	slot := n.localSlot(m, head)
	counts, at, here := m.readSlots(id, slot)
	part := n.partOf(id)
	part.mu.Lock()
	defer part.mu.Unlock()
	s, known := part.known[id]
	if over = counted > m.Limit; !known {
		return over
	}
	if here && at == slot && !m.partial(slot) {
		// All that is counted here by now is in the sum, or came after it. After a step of
		// the clock the sum may have what others counted before the window.
		s.proven, s.provenAt = counted-min(counted, (*ring.Counts)(&counts).Sum()), slot
	}
	s.refuted = min(s.refuted+1, mostRefuted)
	if over {
		s.refuted = 0
	}
	part.known[id] = s
	return over
}
