package console

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
)

// TestDistinctSentence: a rule of different values is named with what it counts.
func TestDistinctSentence(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	rule := admin.RuleCount{Rule: "probing", Distinct: "path", Count: 17, Limit: 19, Threshold: 20, Window: 300}
	e := admin.Explanation{Address: netip.MustParseAddr("192.0.2.1"), Time: now, Standing: "none", Rules: []admin.RuleCount{rule}}
	text := func() (all string) {
		for _, c := range sentence(&e, nil, false, nil) {
			all += c.Text
		}
		return all
	}
	if got := text(); !strings.Contains(got, "The nearest is rule probing: 17 different paths of 19, 89.5 %.") {
		t.Error(got)
	}
	e.Block = &admin.ActiveBlock{Block: admin.Block{Prefix: netip.MustParsePrefix("192.0.2.1/32"), Rule: "probing", Count: 431, Limit: 19, Since: now, Until: now.Add(time.Minute)}}
	if got := text(); !strings.HasPrefix(got, "Blocked by rule probing: at least 431 different paths in 5 minutes, and the limit is 19") {
		t.Error(got)
	}
	e.Rules[0].Distinct = ""
	if got := text(); !strings.HasPrefix(got, "Blocked by rule probing: 431 counted in 5 minutes, and the limit is 19") {
		t.Error(got)
	}
	e.Block.Rule = edgeguard.ManualRule
	if got := text(); !strings.HasPrefix(got, "Blocked by hand") {
		t.Error(got)
	}
}
