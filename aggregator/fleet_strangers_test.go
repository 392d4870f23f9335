package aggregator_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"edgeguard/aggregator"
)

// simDoubts is how much longer a client may stay unblocked of which Redis has
// counts that no node made: so long a node waits before it looks again.
const simDoubts = 12 * time.Second

// raise is somebody who writes counts of a client into Redis, under a name that no
// node has: nobody may be blocked by them.
func (s *sim) raise(c *simClient) {
	id := aggregator.NodeID("stranger", fmt.Sprint(s.rnd.IntN(3)))
	p := aggregator.Push{Key: c.key, Width: c.meter.width, Counts: []uint16{uint16(1 + s.rnd.IntN(int(2*c.meter.limit)))}}
	p.First = c.meter.slot(s.now) - uint32(s.rnd.IntN(60))
	header := string(aggregator.NewHeader(id, s.now, p.Width).Append(nil))
	if _, err := s.redis.Call(s.now, "edgeguard1_push", []string{"clock", c.bytes}, []string{header, string(p.AppendBody(nil))}); err != nil {
		s.fatalf("a stranger's push: %v", err)
	}
	c.raised = s.now.Add(c.meter.span(aggregator.Kept) + simDoubts)
}

// doubted is how much longer a client may stay unblocked.
func (c *simClient) doubted(now time.Time) time.Duration {
	if now.Before(c.raised) {
		return simDoubts
	}
	return 0
}

// prove reads the split of a key that is over the limit, as the pusher does, and
// blocks it by what nodes counted: in the window of the push or, if the peak is of
// another one, in those around it.
func (s *sim) prove(n *simNode, fleet *aggregator.Totals, p *aggregator.Push, a aggregator.Answer) {
	if due, _ := fleet.Ask(p.Key, false, s.local(n)); !due {
		return
	}
	look := aggregator.NewSplitLook(p, a, aggregator.Outcome{Over: true})
	over, stranger := s.proves(n, fleet, look)
	if !over && look.Moved {
		look.Heads = aggregator.HeadsAround(p.Head(), p.Width)
		over, stranger = s.proves(n, fleet, look)
	}
	if over {
		n.doubts.Settle(p.Key)
	} else {
		n.doubts.See(p.Key, stranger, s.local(n))
	}
}

// proves reports whether the splits of some windows prove that a key is over the
// limit, and blocks it then.
func (s *sim) proves(n *simNode, fleet *aggregator.Totals, look aggregator.SplitLook) (over bool, stranger aggregator.SplitField) {
	var splits [][]aggregator.SplitField
	for _, head := range look.Heads {
		reply, err := s.redis.Call(s.now, "edgeguard1_split", []string{string(look.Key.Append(nil))}, []string{fmt.Sprint(head)})
		if err != nil {
			s.fatalf("split: %v", err)
		}
		splits = append(splits, aggregator.SplitFields(reply.([]any)))
	}
	judge := aggregator.SplitJudge{Own: n.id, Known: func(id [8]byte) bool { return s.ids[id] }}
	sum := judge.Most(splits, look.Own)
	head := look.Heads[sum.At]
	if over = fleet.Prove(look.Key, head, sum.Counted); over && !n.fleet.Forgotten(look.Key, head) { // as the pusher asks
		s.block(s.index[look.Key], "fleet", sum.Counted)
	}
	return over, sum.Stranger
}

// lookAgain lets a node look again at what it could not prove.
func (s *sim) lookAgain(n *simNode) {
	if n.cut {
		return
	}
	again, explained := n.doubts.Report(s.local(n), func(id [8]byte) bool { return s.ids[id] }, noAlarms{})
	for _, k := range explained {
		n.fleet.Explained(k)
	}
	again = append(again, explained...)
	slices.SortFunc(again, func(a, b aggregator.Key) int { return bytes.Compare(a.Append(nil), b.Append(nil)) })
	for _, k := range again {
		if p, ok := n.fleet.Watch(k, s.local(n)); ok {
			s.push(n, []aggregator.Push{p}, true)
		}
	}
}

type noAlarms struct{}

func (noAlarms) Alarm(_, _, _ string) {}
func (noAlarms) Calm(_, _ string)     {}

// TestAPeakOfAnotherWindow has a node whose clock is behind push last: the client is
// over its limit only in a window that ends after the node's own slot. The model's
// nodes must read the splits of the windows around, as the pusher does.
func TestAPeakOfAnotherWindow(t *testing.T) {
	for seed := range uint64(20) {
		s := newSim(t, seed)
		if len(s.nodes) < 2 || len(s.nodes) > s.maxNodes {
			continue
		}
		s.faults = false
		c, ahead, behind := s.clients[0], s.nodes[0], s.nodes[1]
		ahead.skew, behind.skew = simSkew/2, -simSkew/2
		width := c.meter.span(1)
		s.now = s.now.Truncate(width).Add(3 * width) // a slot begins
		s.event(ahead, c, 0, int(c.meter.limit))
		s.event(behind, c, 0, int(c.meter.limit))
		s.pushRound(ahead)
		s.pushRound(behind)
		if !c.blocked {
			s.fatalf("%s is not blocked", c.prefix)
		}
	}
}
