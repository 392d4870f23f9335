package redis

import (
	"fmt"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// What passes of a key that the fleet watches, at a node that has heard nothing of it
// lately, is pushed before the node's next round.
func TestUrgentPush(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	b := join(t, s.Addr, 1, func(c *Config) { c.Node = "edge-b" })[0]
	seldom := testConfig(s.Addr, "edge-a")
	seldom.Push = 10 * time.Second
	a := newMember(t, seldom)
	a.counts = aggregator.New(aggregator.Config{Boot: time.Now().Add(-5 * time.Minute), Nodes: 2,
		Meters: []aggregator.Meter{{Fingerprint: testMeter, Width: testWidth, Limit: testLimit, Renews: testLimit, Table: a.table}}})
	a.start(t)
	a.eventually(t, "it is joined", func() bool { return a.link.Stats().Up })
	before := 0 // the round: by which it may be pushed just as well, once in a while
	for i := range 6 {
		addr := fmt.Sprintf("203.0.113.%d", i)
		answered := a.counts.Stats().Answered
		b.see(addr, 95)
		a.eventually(t, "the watch", func() bool { s := a.counts.Stats(); return s.Watched == i+1 && s.Answered > answered })
		rounds := a.link.Stats().Rounds
		a.see(addr, 1)
		program.Eventually(t, "the count of the other node", func() bool { return held(t, s, addr) == 96 })
		if a.link.Stats().Rounds == rounds {
			before++
		}
	}
	if before < 4 {
		t.Errorf("%d of 6 were pushed before a round", before)
	}
}
