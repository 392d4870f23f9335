package aggregator_test

import (
	"slices"
	"time"

	"edgeguard/internal/fleetmodel"
	"edgeguard/ring"
	"edgeguard/shard"
)

// join starts a node of a new name.
func (s *sim) join() {
	phase := s.rnd.IntN(2)
	s.Join(time.Duration(s.rnd.Int64N(int64(2*simSkew))) - simSkew)
	s.phase[s.Nodes[len(s.Nodes)-1].Name] = phase
}

// leave ends a node: what it had not pushed is lost.
func (s *sim) leave(n *fleetmodel.Node) {
	for _, c := range s.clients {
		c.gone(n)
	}
	s.Leave(n)
}

// restart ends a node cleanly and starts it again, kill as a power failure does.
func (s *sim) restart(n *fleetmodel.Node, keep bool) {
	s.replaced(n, s.Restart(n, keep))
	delete(s.logged, n)
}

func (s *sim) kill(n *fleetmodel.Node) {
	logged := s.logged[n]
	delete(s.logged, n)
	after := s.Kill(n)
	s.replaced(n, after)
	if s.rnd.IntN(2) == 0 {
		s.readAgain(after, logged)
		s.logged[after] = slices.Clone(logged) // until the next snapshot
	}
}

// readAgain has a node count what the one before read of a log since its snapshot.
func (s *sim) readAgain(n *fleetmodel.Node, logged []logged) {
	for _, l := range logged {
		now := l.meter.slot(s.Local(n))
		op := shard.Op{Addr: l.prefix.Addr(), With: l.with, Now: now, Slot: min(l.slot, now-1), Cost: 1}
		if count, rest := s.Count(n, l.at, &op); count.Count+rest > l.meter.limit {
			s.block(l.simClient, "read again", rest)
		}
	}
}

// logged is an event that stands in a log.
type logged struct {
	*simClient
	slot uint32
}

// snapshot has a node save what it has, and how far it has read.
func (s *sim) snapshot(n *fleetmodel.Node) {
	s.Snapshot(n)
	delete(s.logged, n)
}

// replaced remembers what a node goes on with that has the place of another.
func (s *sim) replaced(before, after *fleetmodel.Node) {
	for _, c := range s.clients {
		if sure, ok := c.sure[before]; ok && after.ID == before.ID {
			c.sure[after] = sure
			delete(c.sure, before)
		}
		c.gone(before)
	}
	s.felt(2 * simPush)
}

// shareBy is what a node's share goes by: the greatest number of nodes that it knew
// of in the longest window.
func (s *sim) shareBy(n *fleetmodel.Node) int {
	nodes, now := s.MaxNodes, n.Heard[len(n.Heard)-1].From
	for i, h := range n.Heard {
		if i == len(n.Heard)-1 || now.Sub(n.Heard[i+1].From) < s.longest() {
			nodes = max(nodes, min(h.Nodes, 4*s.MaxNodes))
		}
	}
	return nodes
}

// longest is the longest window.
func (s *sim) longest() (longest time.Duration) {
	for _, m := range s.meters {
		longest = max(longest, m.span(ring.Slots))
	}
	return longest
}
