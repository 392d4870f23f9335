package pipeline

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/haproxy/peers"
	"edgeguard/rules"
	"edgeguard/shard"
)

// counting is a pipeline with rules of these specs.
func counting(t *testing.T, specs ...rules.Spec) (*Pipeline, *config.Config) {
	t.Helper()
	c := ruled(t, specs...)
	p := New(Config{Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Crossed: func(edgeguard.Crossing) {}}, c)
	t.Cleanup(p.Close)
	return p, c
}

func ruled(t *testing.T, specs ...rules.Spec) *config.Config {
	t.Helper()
	set, problems := rules.Compile(specs)
	if problems != nil {
		t.Fatal(problems)
	}
	return &config.Config{Rules: set}
}

var (
	site   = rules.Spec{Name: "site", Threshold: 1000}
	login  = rules.Spec{Name: "login", Threshold: 5, Guard: "1", Match: rules.Match{Method: []string{"POST"}}}
	syn    = rules.Spec{Name: "syn", Threshold: 5, Match: rules.Match{Kind: []string{"syn"}}}
	client = netip.MustParseAddr("192.0.2.1")
)

// countOf is what a rule counts of the client.
func (p *Pipeline) countOf(rule string) uint32 {
	for _, r := range p.Current().Detector.Explain(benchStart, client).Rules {
		if r.Rule == rule {
			return r.Count
		}
	}
	return 0
}

// A column counts for its rule, whatever place the rule has in the config; what is too
// old, and a column that no rule has, do not count.
func TestIncreases(t *testing.T) {
	p, _ := counting(t, syn, site, login)
	count := p.Increases("haproxy ha1", true)
	out := count(benchStart, p.Current().Columns.Table(), []peers.Increase{
		{Key: client, Column: 0, N: 20, At: benchStart}, {Key: client, Column: 1, N: 7, At: benchStart},
		{Key: client, Column: 0, N: 4, At: benchStart.Add(-time.Hour)},
		{Key: client, Column: 2, N: 9, At: benchStart},
	})
	if out != (peers.Outcome{Known: true, Late: 4, Lost: 4, LateSteps: 4}) || p.countOf("site") != 20 || p.countOf("login") != 7 {
		t.Errorf("%+v; site counts %d, login %d", out, p.countOf("site"), p.countOf("login"))
	}
	if n := p.Verdicts.Count(Ruling{Source: "haproxy ha1", Action: edgeguard.ActionDeny, Rule: "login"}); n != 6 { // two of 7, and 4 that came when it was blocked
		t.Errorf("%d were denied", n)
	}
	if _, block := p.made.List.Find(benchStart, client); block == nil || !block.Proxied || block.Rule != "login" {
		t.Errorf("%+v", block)
	}
}

// In mode monitor what HAProxy counted is refused by nobody, and counted as what would have been.
func TestIncreasesInMonitor(t *testing.T) {
	c := ruled(t, login)
	c.Monitor = true
	p := New(Config{Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Crossed: func(edgeguard.Crossing) {}}, c)
	defer p.Close()
	p.Increases("haproxy ha1", true)(benchStart, p.Current().Columns.Table(), []peers.Increase{{Key: client, Column: 0, N: 7, At: benchStart}})
	all := make(map[Ruling]uint64)
	p.Verdicts.Each(func(by Ruling, n uint64) { all[by] = n })
	stats := p.Current().Detector.Stats()
	if by := (Ruling{Source: "haproxy ha1", Action: edgeguard.ActionShadow, Rule: "login", Unenforced: true}); len(all) != 1 || all[by] != 2 || stats.Shadowed != 2 || stats.Denied != 0 {
		t.Errorf("%v, %+v", all, stats)
	}
}

// Other rules have other columns: what HAProxy counted by the old ones counts nothing,
// however the reload falls between two batches. Thresholds are no part of that.
func TestIncreasesOfOtherRules(t *testing.T) {
	p, _ := counting(t, site, login)
	count := p.Increases("haproxy ha1", false)
	one := []peers.Increase{{Key: client, Column: 1, N: 1, At: benchStart}}
	table := p.Current().Columns.Table()
	stricter := login
	stricter.Threshold = 3
	p.Replace(benchStart, ruled(t, site, stricter))
	if known := count(benchStart, table, one).Known; !known || p.countOf("login") != 1 {
		t.Errorf("another threshold: known %t, counts %d", known, p.countOf("login"))
	}
	var reloads sync.WaitGroup
	reloads.Go(func() { p.Replace(benchStart, ruled(t, login, site)) })
	counted := uint32(1)
	for range 1000 {
		if known := count(benchStart, table, one).Known; known {
			counted++
		}
	}
	reloads.Wait()
	if got := p.countOf("login"); got != counted || p.countOf("site") != 0 {
		t.Errorf("login counts %d, want %d; site counts %d", got, counted, p.countOf("site"))
	}
	if known := count(benchStart, table, one).Known; known || p.countOf("login") != counted || p.countOf("site") != 0 {
		t.Error("columns of the rules before counted")
	}
}

// HAProxy counted on while the node was away: for an hour, and nobody is blocked for what
// was spread over it; for some minutes, and it counts from the beginning of the gap.
func TestIncreasesOfAGap(t *testing.T) {
	const perWindow = 400
	counter := func(value uint64) *peers.Update {
		key := client.As16()
		return &peers.Update{Key: key[:], Numbers: []uint64{value}, Table: &peers.Definition{
			ID: 1, Name: "/counts", Key: peers.IPv6, KeyBytes: 16, Expire: 10 * time.Minute, Stored: []peers.Stored{{Type: peers.GPC, Elements: 1}},
		}}
	}
	for _, test := range []struct {
		away          time.Duration
		late          uint64
		counted, left uint32 // when it returns, and a window after it went away
	}{
		{time.Hour, 12 * perWindow, 0, 0},
		{4 * time.Minute, 0, 320, 0},
	} {
		p, _ := counting(t, rules.Spec{Name: "site", Threshold: 1000})
		count, kept := p.Increases("haproxy a", false), peers.NewTally(100)
		late := uint64(0)
		read := func(s *peers.Session, now time.Time, value uint64) {
			s.Round(now, 100)
			late += count(now, p.Current().Columns.Table(), s.Add(counter(value), nil)).Late
		}
		s := kept.Begin("ha1", 7, benchStart)
		read(s, benchStart, 5000) // the baseline
		s.Resynced(true)
		s.Resynced(true) // nothing was inherited in the middle of this one
		back := benchStart.Add(test.away)
		s = kept.Begin("ha1", 7, back)
		read(s, back, 5000+uint64(perWindow*test.away/(5*time.Minute)))
		counted := func(at time.Time) uint32 { return p.Current().Detector.Explain(at, client).Rules[0].Count }
		if late != test.late || counted(back) != test.counted || counted(benchStart.Add(5*time.Minute+5*time.Second)) != test.left {
			t.Errorf("%v away: %d late, %d counted, then %d", test.away, late, counted(back), counted(benchStart.Add(5*time.Minute+5*time.Second)))
		}
		if standing, _ := p.made.List.Find(back, client); standing != blocklist.None {
			t.Errorf("%v away: %v", test.away, standing)
		}
	}
}
