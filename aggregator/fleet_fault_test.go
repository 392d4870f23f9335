package aggregator_test

import (
	"slices"
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
	n := s.nodes[s.rnd.IntN(len(s.nodes))]
	c := s.clients[s.rnd.IntN(len(s.clients))]
	switch s.rnd.IntN(1250) {
	case 1200, 1201, 1202, 1203:
		s.raise(c)
	case 0, 1, 2, 3, 4, 5, 6:
		s.loseRedis()
	case 7, 8:
		s.saved = s.redis.Clone()
	case 9, 10: // one node is cut off, or back
		if n.cut = !n.cut; !n.cut {
			s.joined(n)
			s.felt(simPush)
		}
	case 11, 12:
		if len(s.nodes) > 1 {
			s.leave(n)
		}
	case 13, 14:
		if len(s.nodes) < 200 {
			s.join()
			s.felt(simPush)
		}
	case 15, 16:
		s.unblock(c)
	case 17:
		s.reload(n)
		s.felt(simPush)
	case 18: // no room for most suspects, until the next reload
		n.most = 3 - min(n.most, 3)
		s.reload(n)
	case 19:
		s.restart(n, s.rnd.IntN(3) > 0)
	case 20:
		s.kill(n)
	case 21, 22:
		n.saved = s.snapshot(n)
	case 23: // Redis is full
		s.redis.Evict(c.bytes)
		s.felt(simWhole)
	case 24:
		s.trimWatches()
	case 25:
		s.restartAll()
	case 26:
		if s.rnd.IntN(3) == 0 {
			s.stepClock(time.Duration(1+s.rnd.IntN(6)) * []time.Duration{-1, 1}[s.rnd.IntN(2)] * 10 * time.Second)
		}
	}
	for _, n := range s.nodes {
		if n.cut {
			s.felt(2 * simPush)
		}
		if n.most > 0 { // what it missed is asked for again after a quarter of a window
			s.felt(s.watchAgain())
		}
	}
}

// watchAgain is until when a watch that was lost is known again.
func (s *sim) watchAgain() time.Duration {
	most := time.Duration(0)
	for _, m := range s.meters {
		most = max(most, m.span(simWindow/4))
	}
	return most + simWhole
}

// loseRedis is the loss of what Redis stores, or of a part.
func (s *sim) loseRedis() {
	switch s.rnd.IntN(5) {
	case 0: // emptied, and no node is notified
		s.redis.Wipe()
		s.stream, s.when = s.stream[:0], s.when[:0]
		for _, n := range s.nodes {
			n.read = 0
		}
		s.felt(simWhole)
	case 1: // restarted empty: all reconnect
		s.redis.Wipe()
		s.reconnect()
	case 2, 3: // a replica that missed writes takes over
		s.redis = s.saved.Clone()
		s.reconnect()
	case 4: // one takes over, and no node is notified
		s.redis = s.saved.Clone()
		s.felt(simWhole)
	}
}

// trimWatches drops the older half of the watch list, read or not.
func (s *sim) trimWatches() {
	drop := (len(s.stream) + 1) / 2
	s.stream, s.when = s.stream[drop:], s.when[drop:]
	for _, n := range s.nodes {
		n.read = max(n.read-drop, 0)
	}
	s.felt(s.watchAgain())
}

// restartAll is an upgrade of all nodes, and then perhaps of Redis.
func (s *sim) restartAll() {
	keep := s.rnd.IntN(4) > 0
	for _, n := range slices.Clone(s.nodes) {
		s.restart(n, keep)
	}
	if s.rnd.IntN(2) == 0 {
		s.redis.Wipe()
		s.reconnect()
	}
}

func (s *sim) reconnect() {
	for _, n := range s.nodes {
		s.joined(n)
	}
	s.felt(2 * simPush)
	for _, c := range s.clients {
		// An unblock that is about to leave the ring is one that some nodes repeat,
		// and others, whose clocks are ahead, do not: what those have just pushed is
		// forgotten, and comes back when they reconcile.
		if age := int64(c.meter.slot(s.now)) - int64(c.cleared); age >= aggregator.Kept-4 && age <= aggregator.Kept+4 {
			s.felt(simWhole)
		}
	}
}

// joined is a node's new connection: no answer comes any more on the one before.
func (s *sim) joined(n *simNode) {
	n.fleet.Lost()
	s.late = slices.DeleteFunc(s.late, func(d delayed) bool { return d.node == n && d.answers != nil })
}
