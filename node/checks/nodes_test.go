package checks

import (
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
	"edgeguard/rules"
	"edgeguard/shard"
)

// More nodes than max_nodes raise an alarm, from the first on, which lasts as
// long as the share goes by them.
func TestNodes(t *testing.T) {
	j := newJudged(t)
	check := &Nodes{Current: j.Current, Alarms: j.alarms}
	check.Check(testBegin)
	if got := j.conditions(); got != "" {
		t.Errorf("without a fleet: %q", got)
	}
	set, problems := rules.Compile([]rules.Spec{{Name: "site", Threshold: 60_000, Window: 5 * time.Minute}})
	if problems != nil {
		t.Fatal(problems)
	}
	fleet := &config.Fleet{Quiet: true, MaxNodes: 10, Share: 0.5}
	p := pipeline.New(pipeline.Config{
		Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Boot: testBegin, Offset: func() time.Duration { return 0 },
	}, &config.Config{Rules: set, Fleet: fleet})
	t.Cleanup(p.Close)
	check = &Nodes{Current: p.Current, Alarms: alarm.New(func(edgeguard.Alarm) {}, nil)}
	for _, c := range []struct {
		after time.Duration
		nodes int
		want  string
	}{
		{0, 10, ""},
		{time.Second, 11, "had 11 nodes in the last window, and max_nodes is 10"},
		{2 * time.Second, 41, "more than 4 times max_nodes 10"},
		{3 * time.Second, 9, "more than 4 times max_nodes 10"},
		{3*time.Second + 5*time.Minute, 9, ""},
	} {
		now := testBegin.Add(c.after)
		p.Current().Member.Totals.SetNodes(c.nodes, now)
		check.Check(now)
		var got string
		for _, a := range check.Alarms.Lasting() {
			got += a.Text
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%v later, %d nodes: %q, want %q", c.after, c.nodes, got, c.want)
		}
	}
}
