package console

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/internal/words"
)

// TestDistinctSentence: figures are told in what the rule counts.
func TestDistinctSentence(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	paths := words.Measure{Each: 2, One: "different path", Many: "different paths", Exact: 400}
	rule := admin.RuleCount{Rule: "probing", Distinct: "path", Count: 8, Limit: 10, Threshold: 10, Window: 300, Unit: paths}
	e := admin.Explanation{Address: netip.MustParseAddr("192.0.2.1"), Time: now, Standing: "none", Rules: []admin.RuleCount{rule}}
	text := func() (all string) {
		for _, c := range sentence(&e, nil, false, nil) {
			all += c.Text
		}
		return all
	}
	if got := text(); !strings.Contains(got, "The nearest is rule probing: 4 different paths, limit 5, 80.0 %.") {
		t.Error(got)
	}
	e.Block = &admin.ActiveBlock{Block: admin.Block{Prefix: netip.MustParsePrefix("192.0.2.1/32"), Rule: "probing", Count: 431, Limit: 10, Unit: paths, Since: now, Until: now.Add(time.Minute)}}
	if got := text(); !strings.HasPrefix(got, "Blocked by rule probing: at least 215.5 different paths in 5 minutes, and the limit is 5") {
		t.Error(got)
	}
	e.Block.Unit = words.Weighed()
	if got := text(); !strings.HasPrefix(got, "Blocked by rule probing: cost 431 in 5 minutes, and the limit is 10") {
		t.Error(got)
	}
	e.Block.Rule = edgeguard.ManualRule
	if got := text(); !strings.HasPrefix(got, "Blocked by hand") {
		t.Error(got)
	}
}

// The sentence of a block that another program or list asks for names it, and what can be
// done.
func TestOwnedSentence(t *testing.T) {
	b := &admin.ActiveBlock{Block: admin.Block{Prefix: netip.MustParsePrefix("203.0.113.0/24"), Rule: "owner drop", Owner: "drop", Origin: "n1", Reason: "listed at x"}, Imported: true}
	say := func() string {
		strong, rest := whyBlocked(b, "203.0.113.7", "Blocked by ", "12:00:00")
		return strong + rest
	}
	if got := say(); !strings.HasPrefix(got, "Blocked by the imported list drop, on this node alone, since 12:00:00: “listed at x”. It is inside 203.0.113.0/24. It cannot be unblocked here") || !strings.Contains(got, "To let 203.0.113.7 in, allow it") {
		t.Error(got)
	}
	b.Owner = "crowdsec"
	if got := say(); !strings.Contains(got, "a decision of CrowdSec") || !strings.Contains(got, "cscli decisions delete") {
		t.Error(got)
	}
	b.Owner, b.Imported, b.Reason = "fail2ban", false, ""
	if got := say(); got != "Blocked by the program fail2ban on n1 at 12:00:00. No rule is involved." {
		t.Error(got)
	}
	for want, got := range map[string]string{"list drop": blockMaker("owner drop", true), "fail2ban": blockMaker("owner fail2ban", false), "site": blockMaker("site", false),
		"hand": makerOf("manual"), "the program fail2ban": makerOf("owner fail2ban"), "rule site": makerOf("site")} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
