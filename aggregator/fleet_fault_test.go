package aggregator_test

import (
	"slices"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/fleetmodel"
)

// felt notes that a fault may delay what follows by so much more than the grace.
func (s *sim) felt(d time.Duration) {
	if at := s.Now.Add(d); at.After(s.calm) {
		s.calm = at
	}
}

// fault lets something go wrong now and then.
func (s *sim) fault() {
	n := s.Nodes[s.rnd.IntN(len(s.Nodes))]
	c := s.clients[s.rnd.IntN(len(s.clients))]
	switch s.rnd.IntN(1250) {
	case 1200, 1201, 1202, 1203:
		s.raise(c)
	case 0, 1, 2, 3, 4, 5, 6:
		s.loseRedis()
	case 7, 8:
		s.saved = s.Redis.Clone()
	case 9, 10: // one node is cut off, or back
		if n.Cut = !n.Cut; !n.Cut {
			s.Rejoin(n)
			s.felt(simPush)
		}
	case 11, 12:
		if len(s.Nodes) > 1 {
			s.leave(n)
		}
	case 13, 14:
		if len(s.Nodes) < 200 {
			s.join()
			s.felt(simPush)
		}
	case 15, 16:
		s.unblock(c)
	case 17:
		s.Reload(n)
		s.felt(simPush)
	case 18: // no room for most suspects, until the next reload
		n.MaxSuspects = 3 - min(n.MaxSuspects, 3)
		s.Reload(n)
	case 19:
		s.restart(n, s.rnd.IntN(3) > 0)
	case 20:
		s.kill(n)
	case 21, 22:
		s.snapshot(n)
	case 23: // Redis is full
		s.Redis.Evict(c.bytes)
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
	for _, n := range s.Nodes {
		if n.Cut {
			s.felt(2 * simPush)
		}
		if n.MaxSuspects > 0 { // what it missed is asked for again after a quarter of a window
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
		s.Wipe()
		s.felt(simWhole)
	case 1: // restarted empty: all reconnect
		s.Redis.Wipe()
		s.reconnect()
	case 2, 3: // a replica that missed writes takes over
		s.Redis = s.saved.Clone()
		s.reconnect()
	case 4: // one takes over, and no node is notified
		s.Redis = s.saved.Clone()
		s.felt(simWhole)
	}
}

// trimWatches drops the older half of the watch list, read or not.
func (s *sim) trimWatches() {
	s.TrimWatches()
	s.felt(s.watchAgain())
}

// restartAll is an upgrade of all nodes, and then perhaps of Redis.
func (s *sim) restartAll() {
	keep := s.rnd.IntN(4) > 0
	for _, n := range slices.Clone(s.Nodes) {
		s.restart(n, keep)
	}
	if s.rnd.IntN(2) == 0 {
		s.Redis.Wipe()
		s.reconnect()
	}
}

func (s *sim) reconnect() {
	for _, n := range s.Nodes {
		s.Rejoin(n)
	}
	s.felt(2 * simPush)
	for _, c := range s.clients {
		// An unblock that is about to leave the ring is one that some nodes repeat,
		// and others, whose clocks are ahead, do not: what those have just pushed is
		// forgotten, and comes back when they reconcile.
		if age := int64(c.meter.slot(s.Now)) - int64(c.cleared); age >= aggregator.Kept-4 && age <= aggregator.Kept+4 {
			s.felt(simWhole)
		}
	}
}

// fate lets a call of a node go wrong now and then.
func (s *sim) fate(n *fleetmodel.Node, c *fleetmodel.Call) (fate fleetmodel.Fate) {
	if !s.faults {
		return fate
	}
	late := time.Duration(s.rnd.Int64N(int64(4900 * time.Millisecond)))
	switch s.rnd.IntN(50) {
	case 0:
		fate.Lost = true
		s.felt(simPush)
	case 1:
		fate.Unanswered = true
		s.felt(simPush)
	case 2:
		fate.Twice = true
	case 3:
		fate.Late = late
		s.felt(late + simPush)
	case 4:
		fate.AnswerLate = late
		s.felt(late + simPush)
	}
	return fate
}

// stepClock moves Redis' clock. Nodes learn of it within two seconds, and what
// they counted before stays local. It steps once in a window: behind two steps
// back, what is counted is older than the rings in Redis.
func (s *sim) stepClock(by time.Duration) {
	real := s.Now.Add(-s.Ahead)
	if real.Before(s.steady) {
		return
	}
	s.steady = real.Add(s.meters[0].span(aggregator.Kept) + s.meters[len(s.meters)-1].span(aggregator.Kept))
	s.StepClock(by, func() time.Duration { return time.Duration(s.rnd.Int64N(int64(2 * time.Second))) })
	if !s.calm.IsZero() {
		s.calm = s.calm.Add(by)
	}
	for _, c := range s.clients {
		c.unsure()
		c.since = time.Time{}
	}
	s.felt(2*time.Second + 2*simPush)
}
