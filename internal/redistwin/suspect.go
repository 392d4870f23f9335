package redistwin

import (
	"time"

	"edgeguard"
	"edgeguard/aggregator"
)

// suspect is what Redis stores of one key.
type suspect struct {
	fleet   window
	nodes   map[string]*window // by node id
	floor   uint32             // slots below it were forgotten by an unblock
	expires time.Time
}

func newSuspect() *suspect { return &suspect{nodes: make(map[string]*window)} }

func (s *suspect) clone() *suspect {
	c := *s
	c.nodes = make(map[string]*window, len(s.nodes))
	for id, w := range s.nodes {
		copied := *w
		c.nodes[id] = &copied
	}
	return &c
}

// merge merges one push; newest is the last slot that is not refused as from
// the future. It reports whether the fleet's head moved. A reconcile is
// answered and moves nothing.
func (s *suspect) merge(id string, p *aggregator.Push, newest uint32) (a aggregator.Answer, moved bool) {
	node := s.nodes[id]
	if node == nil {
		node = new(window)
	}
	if p.IsReconcile() {
		s.answer(&a, node, p)
		return a, false
	}
	head := p.NewestSlot()
	top := min(head, newest)
	if before := s.fleet.head; p.First <= top && top > before {
		s.fleet.advance(top)
		moved = true
		if before/edgeguard.Slots != top/edgeguard.Slots {
			s.dropOld()
		}
	}
	accepted := false
	for i, count := range p.Counts {
		slot := p.First + uint32(i)
		switch {
		case slot > top || !s.fleet.holds(slot):
			a.Status |= aggregator.StatusRefused
		case slot >= s.floor:
			node.advance(top)
			s.raise(node, slot, uint32(count))
			accepted = true
		}
	}
	if accepted {
		s.nodes[id] = node
	}
	s.answer(&a, node, p)
	return a, moved
}

// raise raises a node's slot to count, and the fleet's by as much.
func (s *suspect) raise(node *window, slot, count uint32) {
	at := &node.counts[slot%kept]
	if count > *at {
		fleet := &s.fleet.counts[slot%kept]
		*fleet = min(*fleet+count-*at, maxCount)
		*at = count
	}
}

// answer fills in the answer to a push.
func (s *suspect) answer(a *aggregator.Answer, node *window, p *aggregator.Push) {
	head, fleet := int64(p.NewestSlot()), int64(s.fleet.head)
	a.ClearedBefore = s.floor
	a.Total = s.fleet.total(head)
	newest := fleet
	if p.IsReconcile() {
		newest = max(fleet, head) // the fleet's head may not have come there yet
	}
	for end := min(max(int64(p.First), fleet-(kept-edgeguard.Slots)), newest); end <= newest; end++ {
		a.Peak = max(a.Peak, s.fleet.total(end))
	}
	if int64(s.floor) > head-edgeguard.Slots {
		a.Status |= aggregator.StatusCleared
	}
	switch own := node.sum(max(head-edgeguard.Slots+1, int64(s.floor)), head); {
	case own < p.Sum:
		a.Status |= aggregator.StatusSendFull
	case own > p.Sum:
		a.Status |= aggregator.StatusMore
	}
}

// dropOld drops the nodes that have no slot among those kept.
func (s *suspect) dropOld() {
	for id, w := range s.nodes {
		if !s.fleet.holds(w.head) {
			delete(s.nodes, id)
		}
	}
}

// Rings returns the fleet's ring of a key and the sum of the nodes' rings that
// are kept: the slots up to the fleet's head, oldest first.
func (r *Redis) Rings(key string) (fleet, sum [kept]uint32) {
	s := r.suspects[key]
	if s == nil {
		return fleet, sum
	}
	for i := range fleet {
		slot := s.fleet.head - (kept - 1) + uint32(i)
		fleet[i] = s.fleet.at(slot)
		for _, w := range s.nodes {
			sum[i] += w.at(slot)
		}
		sum[i] = min(sum[i], maxCount)
	}
	return fleet, sum
}
