package aggregator_test

import (
	"time"

	"edgeguard/aggregator"
)

// felt notes that a fault may delay what follows by so much more than the grace.
func (s *sim) felt(d time.Duration) {
	if at := s.now.Add(d); at.After(s.calm) {
		s.calm = at
	}
}

// fault lets something go wrong now and then.
func (s *sim) fault() {
	whole := aggregator.ReconcileEvery + 2*simPush // until every node has reconciled all it has
	switch s.rnd.IntN(950) {
	case 0: // emptied, and no node is notified
		s.redis.Wipe()
		s.stream, s.when = s.stream[:0], s.when[:0]
		s.rewind()
		s.felt(whole)
	case 1: // restarted empty: all reconnect
		s.redis.Wipe()
		s.reconnect()
	case 2, 3: // a replica that missed writes takes over
		s.redis = s.saved.Clone()
		s.reconnect()
	case 4, 5:
		s.saved = s.redis.Clone()
	case 6, 7: // one node is cut off, or back
		n := s.nodes[s.rnd.IntN(len(s.nodes))]
		if n.cut = !n.cut; !n.cut {
			n.fleet.Lost()
			s.felt(simPush)
		}
	case 8, 9:
		if len(s.nodes) > 1 {
			s.leave(s.rnd.IntN(len(s.nodes)))
		}
	case 10, 11:
		if len(s.nodes) < 200 {
			s.join()
			s.felt(simPush)
		}
	case 14: // one takes over, and no node is notified
		s.redis = s.saved.Clone()
		s.felt(whole)
	case 12, 13:
		s.unblock(s.clients[s.rnd.IntN(len(s.clients))])
	}
	for _, n := range s.nodes {
		if n.cut {
			s.felt(2 * simPush)
		}
	}
}

func (s *sim) rewind() {
	for _, n := range s.nodes {
		n.read = 0
	}
}

func (s *sim) reconnect() {
	for _, n := range s.nodes {
		n.fleet.Lost()
	}
	s.felt(2 * simPush)
}
