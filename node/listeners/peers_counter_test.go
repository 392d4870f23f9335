package listeners

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/haproxy/peers"
	"edgeguard/node/pipeline"
	"edgeguard/rules"
	"edgeguard/shard"
)

// What was too old to count is among the uncounted requests, and the state is saved once
// a connection, when it has begun to count.
func TestCounter(t *testing.T) {
	set, problems := rules.Compile([]rules.Spec{{Name: "site", Threshold: 1000}})
	if problems != nil {
		t.Fatal(problems)
	}
	p := pipeline.New(pipeline.Config{Memory: shard.NewMemory(1 << 20), List: blocklist.New(blocklist.Config{})}, &config.Config{Rules: set})
	defer p.Close()
	type missed struct {
		source   string
		reason   edgeguard.Reason
		requests uint64
	}
	var all []missed
	touched := 0
	l := &peersAt{address: "unix:/a", HAProxies: &HAProxies{Pipeline: p, Touch: func() { touched++ }, Missed: func(source string, reason edgeguard.Reason, requests uint64) {
		all = append(all, missed{source, reason, requests})
	}}}
	now := time.Unix(1_800_000_000, 0)
	for range 2 {
		count := l.counter()
		for _, away := range []time.Duration{0, time.Hour, time.Minute} {
			out := count(now, p.Current().Columns.Table(), []peers.Increase{{Key: netip.MustParseAddr("192.0.2.1"), N: 30, At: now.Add(-away)}})
			if want := map[bool]uint64{true: 30}[away == time.Hour]; out.Lost != want || !out.Known {
				t.Errorf("%v away: %+v", away, out)
			}
		}
	}
	if want := (missed{"haproxy unix:/a", edgeguard.GapTooLong, 30}); len(all) != 2 || all[0] != want || all[1] != want {
		t.Errorf("%+v", all)
	}
	if touched != 2 {
		t.Errorf("the state is saved %d times for two connections", touched)
	}
}
