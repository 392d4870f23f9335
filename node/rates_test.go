package node

import (
	"net/netip"
	"slices"
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
