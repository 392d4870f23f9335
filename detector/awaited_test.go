package detector_test

import (
	"testing"
	"time"

	"edgeguard"
	"edgeguard/rules"
)

// While it is being found out who a claimant is, he is counted and not blocked by a
// rule that asks for it; his next request after that is decided by all he did.
func TestAwaited(t *testing.T) {
	asks := rules.Match{Not: &rules.Match{Crawler: []string{"verified"}}}
	now := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		match   rules.Match
		after   string // who the client turns out to be
		pending edgeguard.Action
		then    edgeguard.Action
	}{
		"an impostor":                      {asks, "impostor", edgeguard.ActionPass, edgeguard.ActionDeny},
		"a verified one":                   {asks, "verified googlebot", edgeguard.ActionPass, edgeguard.ActionPass},
		"one whom DNS does not answer for": {asks, "unknown", edgeguard.ActionPass, edgeguard.ActionDeny},
		"a rule that does not ask":         {rules.Match{}, "impostor", edgeguard.ActionDeny, edgeguard.ActionDeny},
	} {
		for _, batch := range []bool{false, true} {
			b := newBench(t, rules.Spec{Name: "a", Threshold: 5, Match: c.match})
			decide := func(who string, awaited bool) edgeguard.Action {
				ev := request(someone, now)
				ev.Known |= edgeguard.FieldCrawler
				ev.Crawler, ev.Awaited = who, awaited
				if !batch {
					return b.Decide(now, &ev).Action
				}
				verdicts := make([]edgeguard.Verdict, 1)
				b.DecideBatch([]time.Time{now}, []edgeguard.Event{ev}, verdicts)
				return verdicts[0].Action
			}
			var last edgeguard.Action
			for range 20 {
				last = decide("unknown", true)
			}
			if last != c.pending {
				t.Errorf("%s, batch %v: while awaited: %v", name, batch, last)
			}
			if got := decide(c.after, false); got != c.then {
				t.Errorf("%s, batch %v: %v, want %v", name, batch, got, c.then)
			}
			if blocked := len(b.told) == 1; blocked != (c.then == edgeguard.ActionDeny) {
				t.Errorf("%s, batch %v: blocks %v", name, batch, b.told)
			}
		}
	}
}
