package pipeline

import (
	"maps"
	"testing"
	"time"

	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/rules"
	"edgeguard/shard"
)

// TestLeaveAndRejoin: a boot pushes the same slots after a reload that leaves the
// fleet and one that joins it again, be it a kept boot or one that was drawn
// later. From the start of the process on it would hide what a kept boot had
// pushed before, and push under another boot what was pushed under the first.
func TestLeaveAndRejoin(t *testing.T) {
	set, problems := rules.Compile([]rules.Spec{{Name: "site", Threshold: 1000}})
	if problems != nil {
		t.Fatal(problems)
	}
	begun := time.Unix(1_800_000_000, 0)
	joined, alone := &config.Config{Rules: set, Fleet: &config.Fleet{MaxNodes: 3}}, &config.Config{Rules: set}
	const kept = 1_799_990_000 / 5
	for what, begin := range map[string]func(g *Generation){
		"a kept boot": func(g *Generation) {
			since := g.Member.Totals.Since()
			for meter := range since {
				since[meter] = kept
			}
			g.Member.Totals.KeepBoot(begun, since)
		},
		"a boot that was drawn later": func(g *Generation) { g.Member.Totals.Redrawn(begun.Add(time.Minute)) },
		"the first boot":              func(*Generation) {},
	} {
		p := New(Config{
			Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1,
			Boot: begun, Offset: func() time.Duration { return 7 * time.Second },
		}, joined)
		begin(p.Current())
		want := p.Current().Member.Totals.Since()
		if len(want) != 1 {
			t.Fatalf("%d meters are pushed", len(want))
		}
		for _, c := range []*config.Config{alone, alone, joined, joined} {
			p.Replace(time.Now(), c)
		}
		if got := p.Current().Member.Totals.Since(); !maps.Equal(got, want) {
			t.Errorf("%s: it pushes from slots %v on, before from %v", what, got, want)
		}
		p.Close()
	}
}
