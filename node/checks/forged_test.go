package checks

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
	"edgeguard/rules"
	"edgeguard/shard"
)

// Counts in this node's name, and marks without an unblock, raise an alarm that
// names the key, for ten minutes.
func TestForged(t *testing.T) {
	set, problems := rules.Compile([]rules.Spec{{Name: "site", Threshold: 1000, Window: 5 * time.Minute}})
	if problems != nil {
		t.Fatal(problems)
	}
	p := pipeline.New(pipeline.Config{
		Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Boot: testBegin, Offset: func() time.Duration { return 0 },
	}, &config.Config{Rules: set, Fleet: &config.Fleet{MaxNodes: 10}})
	t.Cleanup(p.Close)
	check := &Forged{Current: p.Current, Alarms: alarm.New(func(edgeguard.Alarm) {}, nil)}
	expect := func(now time.Time, want string) {
		t.Helper()
		check.Check(now)
		var got string
		for _, a := range check.Alarms.Lasting() {
			got += a.Text
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	now := testBegin.Add(time.Minute)
	addr := netip.MustParseAddr("203.0.113.9")
	push := func() (pushes []aggregator.Push) {
		p.Current().Detector.Decide(now, &edgeguard.Event{Time: now, Addr: addr, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest})
		for some := range p.Current().Member.Totals.Collect(now, 10) {
			pushes = append(pushes, some...)
		}
		return pushes
	}
	totals := p.Current().Member.Totals
	totals.Sweep(now)
	honest := push()
	totals.Answered(&honest[0], aggregator.Answer{Peak: 1, Total: 1}, now)
	expect(now, "")
	forged := push()
	totals.Answered(&forged[0], aggregator.Answer{Status: aggregator.StatusMore, Peak: 900, Total: 900}, now)
	expect(now, "counts of 203.0.113.9/32 in this node's name")
	expect(now.Add(10*time.Minute), "")
	floor := honest[0].Head() + 60
	for range 2 {
		marked := push()
		totals.Answered(&marked[0], aggregator.Answer{Status: aggregator.StatusCleared, ClearedBefore: floor}, now)
		now = now.Add(5 * time.Second)
	}
	expect(now, "says that 203.0.113.9/32 was unblocked")
}
