package aggregator_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"time"

	"edgeguard/aggregator"
	"edgeguard/aggregator/evidence"
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
// blocks it by what nodes counted.
func (s *sim) prove(n *simNode, fleet *aggregator.Totals, p *aggregator.Push) {
	if due, _ := fleet.Ask(p.Key, false, s.local(n)); !due {
		return
	}
	reply, err := s.redis.Call(s.now, "edgeguard1_split", []string{string(p.Key.Append(nil))}, []string{fmt.Sprint(p.Head())})
	if err != nil {
		s.fatalf("split: %v", err)
	}
	judge := evidence.Judge{Own: n.id, Known: func(id [8]byte) bool { return s.ids[id] }}
	sum := judge.Most([][]evidence.Field{evidence.Fields(reply.([]any))}, math.MaxUint32)
	if fleet.Prove(p.Key, p.Head(), sum.Counted) {
		s.block(s.index[p.Key], "fleet", sum.Counted)
		n.doubts.Settle(p.Key)
		return
	}
	n.doubts.See(p.Key, sum.Stranger, s.local(n))
}

// lookAgain lets a node look again at what it could not prove.
func (s *sim) lookAgain(n *simNode) {
	if n.cut {
		return
	}
	again := n.doubts.Report(s.local(n), noAlarms{})
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
