package aggregator_test

import (
	"slices"
	"testing"
	"time"

	"edgeguard/internal/fleetmodel"
)

// directed is a run that brings one client close to its limit, lets something
// happen, and brings it over.
func (s *sim) directed() {
	c := s.clients[0]
	c.style, c.rest = idle, 1<<30
	s.faults = s.rnd.IntN(2) == 0
	if s.rnd.IntN(4) == 0 {
		for range 3 + s.rnd.IntN(5) {
			s.reorder(c)
		}
		return
	}
	for range 2 {
		s.steps(s.rnd.IntN(30))
		s.bring(c, uint32(80+s.rnd.IntN(20))*c.meter.limit/100)
		s.steps(s.rnd.IntN(6))
		s.weather()
		s.steps(s.rnd.IntN(6))
		s.bring(c, c.meter.limit+1+c.meter.limit/10)
		s.steps(60)
		s.unblock(c)
	}
}

func (s *sim) steps(n int) {
	for range n {
		s.step()
	}
}

// bring lets a client come until it has so many in the window: on one node, on
// the one that has least of it, or anywhere.
func (s *sim) bring(c *simClient, count uint32) {
	way := s.rnd.IntN(3)
	home := s.rnd.IntN(len(s.Nodes))
	for i := uint32(0); i < 4*count && c.inWindow(s.Now) < count && !c.blocked; i++ {
		n := s.Nodes[s.rnd.IntN(len(s.Nodes))]
		switch way {
		case 0:
			n = s.Nodes[home%len(s.Nodes)]
		case 1:
			n = slices.MinFunc(s.Nodes, func(a, b *fleetmodel.Node) int { return int(s.own(a, c)) - int(s.own(b, c)) })
		}
		s.event(n, c, 0, 1)
		if s.rnd.IntN(int(count)/8+1) == 0 {
			s.step()
		}
	}
}

// inWindow is how much of a client is sure.
func (c *simClient) inWindow(now time.Time) (sum uint32) {
	head := c.meter.slot(now)
	for slot := head - simWindow + 1; slot <= head; slot++ {
		sum += c.total[slot]
	}
	return sum
}

// weather is what happens to a client that is close to its limit.
func (s *sim) weather() {
	nodes := slices.Clone(s.Nodes)
	switch s.rnd.IntN(8) {
	case 0, 1, 2: // all nodes restart and keep their boots
		for _, n := range nodes {
			if slices.Contains(s.Nodes, n) { // a fault may have ended it
				s.restart(n, true)
			}
			if s.rnd.IntN(4) == 0 {
				s.step()
			}
		}
	case 3:
		for _, n := range nodes {
			s.restart(n, s.rnd.IntN(2) == 0)
		}
	case 4: // a power failure, with a snapshot of a moment ago
		for _, n := range nodes {
			s.snapshot(n)
		}
		s.steps(s.rnd.IntN(4))
		for _, n := range slices.Clone(s.Nodes) {
			s.kill(n)
		}
	case 5:
		for _, n := range nodes {
			s.Reload(n)
		}
	}
	switch s.rnd.IntN(3) {
	case 0:
		s.Redis.Wipe()
		s.reconnect()
	case 1:
		s.loseRedis()
	}
}

// reorder delays the answers to a few rounds, and delivers them in any order,
// the newest first more often than not.
func (s *sim) reorder(c *simClient) {
	s.Hold = true
	for range 1 + s.rnd.IntN(3) {
		s.event(s.Nodes[s.rnd.IntN(len(s.Nodes))], c, 0, s.rnd.IntN(int(c.meter.limit)))
		s.steps(2)
	}
	s.release()
	s.steps(10 + s.rnd.IntN(int(c.meter.span(simWindow)/simStep)))
}

// release delivers the answers that were held.
func (s *sim) release() {
	s.Hold = false
	held := s.Late
	s.Late = nil
	if s.rnd.IntN(4) == 0 {
		s.rnd.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	} else {
		slices.Reverse(held)
	}
	for _, d := range held {
		if d.Answers == nil {
			s.Late = append(s.Late, d)
		} else {
			s.TakeAnswers(d)
		}
	}
	s.felt(2 * simPush)
}

// TestHeldAnswers holds all answers for longer than the grace while a client comes
// over its limit on several nodes. It must be blocked after they are released, and
// not before: no node can know. The seed is of a run in which that came about by lot.
func TestHeldAnswers(t *testing.T) {
	newSim(t, 13003767307549812544).run()
	for seed := range uint64(40) {
		s := newSim(t, seed)
		if s.faults = false; len(s.Nodes) < 3 || len(s.Nodes) > s.MaxNodes {
			continue
		}
		for _, c := range s.clients {
			c.style, c.rest = idle, 1<<30
		}
		c := s.clients[0]
		s.Hold = true
		for _, n := range s.Nodes[:3] {
			s.event(n, c, 0, int(c.meter.limit)/3+1)
		}
		s.steps(2 * int(simGrace/simStep))
		if c.blocked {
			s.fatalf("%s is blocked by an answer that no node has", c.prefix)
		}
		s.release()
		for range int((2*simPush + 2*simGrace) / simStep) {
			if s.step(); c.blocked {
				break
			}
		}
		if !c.blocked {
			s.fatalf("%s is not blocked after the answers", c.prefix)
		}
	}
}
