package node

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/node/pipeline"
)

// The rates of a step are what was decided and blocked in it, by rule.
func TestRatesOfAStep(t *testing.T) {
	u := newNode(t, shortDir(t), small)
	defer u.pipeline.Close()
	begin := time.Unix(1_800_000_000, 0)
	u.admin.noteRates(begin, u.pipeline)
	u.requests("203.0.113.9", 13) // three are refused
	// What a sensor and the journal do, which do not run here.
	u.pipeline.Verdicts.Of(pipeline.Ruling{Source: "auth", Action: edgeguard.ActionDeny, Rule: "small"}).Add(3)
	u.admin.events.Block(begin, edgeguard.Block{Prefix: netip.MustParsePrefix("203.0.113.9/32"), Rule: "small", Since: begin, Until: begin.Add(time.Hour)}, nil, false)
	u.admin.noteRates(begin.Add(5*time.Second), u.pipeline)
	s := u.view().Rates()[0]
	if !slices.Equal(s.Requests, []uint64{13}) || !slices.Equal(s.Denied, []uint64{3}) || !slices.Equal(s.Blocks, []uint64{1}) || len(s.Rules) != 1 {
		t.Fatalf("%+v", s)
	}
	if r := s.Rules[0]; r.Rule != "small" || !slices.Equal(r.Denied, []uint64{3}) || !slices.Equal(r.Blocks, []uint64{1}) {
		t.Errorf("%+v", r)
	}
}

// The config was read at the start: its metric is there before the first reload.
func TestConfigIsReadAtTheStart(t *testing.T) {
	u := newNode(t, shortDir(t), small)
	defer u.pipeline.Close()
	if r := u.view().Stats().Reload; r == nil || !r.OK || r.Success.IsZero() {
		t.Errorf("%+v", r)
	}
}

// In mode monitor one count says what would be refused: the rates', the figures', and the block's.
// What a rule that only watches says is none of it.
func TestRatesInMonitor(t *testing.T) {
	u := newNode(t, shortDir(t), strings.Replace(small, "rules: [", "mode: monitor\nrules: [{name: watched, threshold: 3, guard: 1, action: shadow}, ", 1))
	defer u.pipeline.Close()
	decide, begin := u.pipeline.Batches("log"), u.clock.Now()
	u.admin.noteRates(begin, u.pipeline)
	client := netip.MustParseAddr("203.0.113.9")
	for range 13 { // three pass, seven are watched, three would be refused
		decide(begin, []edgeguard.Event{{Addr: client, Time: begin, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}})
	}
	u.admin.noteRates(begin.Add(5*time.Second), u.pipeline)
	s, totals := u.view().Rates()[0], u.view().Stats().Events
	if !s.Monitor || !slices.Equal(s.Denied, []uint64{3}) || len(s.Rules) != 1 || s.Rules[0].Rule != "small" || !slices.Equal(s.Rules[0].Denied, []uint64{3}) {
		t.Errorf("%+v", s)
	}
	if totals.WouldBeRefused != 3 || totals.Denied != 0 || totals.Shadowed != 10 {
		t.Errorf("%+v", totals)
	}
	blocks := u.view().Find(u.view().Now(), netip.PrefixFrom(client, 32))
	if active := u.view().Active(blocks); len(active) != 1 || *active[0].Refused != 3 {
		t.Errorf("%+v", active)
	}
}
