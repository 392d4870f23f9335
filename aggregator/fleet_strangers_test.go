package aggregator_test

import (
	"fmt"
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
	p.First = c.meter.slot(s.Now) - uint32(s.rnd.IntN(60))
	header := string(aggregator.NewHeader(id, s.Now, p.Width).Append(nil))
	if _, err := s.Redis.Call(s.Now, "edgeguard1_push", []string{"clock", c.bytes}, []string{header, string(p.AppendBody(nil))}); err != nil {
		s.fatalf("a stranger's push: %v", err)
	}
	c.raised = s.Now.Add(c.meter.span(aggregator.Kept) + simDoubts)
}

// doubted is how much longer a client may stay unblocked.
func (c *simClient) doubted(now time.Time) time.Duration {
	if now.Before(c.raised) {
		return simDoubts
	}
	return 0
}

// TestAPeakOfAnotherWindow has a node whose clock is behind push last: the client is
// over its limit only in a window that ends after the node's own slot. The model's
// nodes must read the splits of the windows around, as the pusher does.
func TestAPeakOfAnotherWindow(t *testing.T) {
	for seed := range uint64(20) {
		s := newSim(t, seed)
		if len(s.Nodes) < 2 || len(s.Nodes) > s.MaxNodes {
			continue
		}
		s.faults = false
		c, ahead, behind := s.clients[0], s.Nodes[0], s.Nodes[1]
		ahead.Skew, behind.Skew = simSkew/2, -simSkew/2
		width := c.meter.span(1)
		s.Now = s.Now.Truncate(width).Add(3 * width) // a slot begins
		s.event(ahead, c, 0, int(c.meter.limit))
		s.event(behind, c, 0, int(c.meter.limit))
		s.PushRound(ahead)
		s.PushRound(behind)
		if !c.blocked {
			s.fatalf("%s is not blocked", c.prefix)
		}
	}
}
