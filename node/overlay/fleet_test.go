package overlay

import (
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator/fleet"
	"edgeguard/config"
)

// joined returns a config with rules in a fleet that requires signatures.
func joined(t *testing.T, rules, more string) *config.Config {
	t.Helper()
	c, err := config.Parse("c", []byte("node: a\nfleet: {redis: \"redis://127.0.0.1:1\", key_file: /k, key_mode: require}\nrules: ["+rules+"]\n"+more))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The order is config, fleet, node. The fleet's threshold is in force where the config
// has what it replaces, and else the reason is there.
func TestMergeFleet(t *testing.T) {
	const site = "{name: site, threshold: 2000, candidates: [800]}"
	first := joined(t, site, "")
	record := func(threshold uint32, at int64) fleet.ThresholdRecord {
		return fleet.ThresholdRecord{Rule: "site", Meter: fingerprint(first, 0), Base: 2000, Threshold: threshold, At: at, Node: "b"}
	}
	book := fleet.ThresholdBook{}.WithRecord(record(800, 1), false, 0)
	reports := func(threshold uint32) fleet.ThresholdBook {
		r := record(threshold, 1)
		r.Shadow = true
		return fleet.ThresholdBook{}.WithRecord(r, false, 0)
	}
	over, _, _ := reports(800).WithRecord(func() fleet.ThresholdRecord { r := record(700, 2); r.Until = 3; return r }(), false, 0).WithEnds(time.UnixMilli(3))
	own := &config.Overlay{Rules: []config.RuleOverlay{{Name: "site", Meter: fingerprint(first, 0), Threshold: 900, Base: 2000}}}
	beside := &config.Overlay{Rules: []config.RuleOverlay{{Name: "site", Meter: fingerprint(first, 0), Candidates: []config.CandidateOverlay{{Threshold: 700}}}}}
	none := &config.Overlay{}
	for _, test := range []struct {
		name string
		base *config.Config
		own  *config.Overlay
		book fleet.ThresholdBook
		want string
		why  string // it is not in force
	}{
		{name: "in force", base: first, own: none, book: book, want: "800"},
		{name: "with a candidate of the node", base: first, own: beside, book: book, want: "800 700"},
		{name: "the node goes before", base: first, own: own, book: book, want: "900 800"},
		{name: "undone", base: first, own: none, book: book.WithRecord(record(0, 2), false, 0), want: "2000 800"},
		{name: "a later one", base: first, own: none, book: book.WithRecord(record(700, 2), false, 0), want: "700 800"},
		{name: "a later one that waits", base: first, own: none, book: book.WithRecord(record(700, 2), true, 0.3), want: "800"},
		{name: "an undo that waits", base: first, own: none, book: book.WithRecord(record(0, 2), true, 0.3), want: "800"},
		{name: "the first one waits", base: first, own: none, book: fleet.ThresholdBook{}.WithRecord(record(700, 2), true, 0.3), want: "2000 800"},
		{name: "it only reports", base: first, own: none, book: reports(0), want: "2000 800 shadow"},
		{name: "and by another threshold", base: first, own: none, book: reports(800), want: "800 shadow"},
		{name: "it only reports, whatever the base", base: joined(t, "{name: site, threshold: 1500, escalate: [1h, 24h]}", ""), own: none, book: reports(0), want: "1500 shadow"},
		{name: "of another base, with a threshold", base: joined(t, "{name: site, threshold: 1500}", ""), own: none, book: reports(800), want: "1500", why: "threshold 1500 here, and not 2000"},
		{name: "the config's reports only", base: joined(t, "{name: site, threshold: 2000, action: shadow}", ""), own: none, book: reports(0), want: "2000 shadow", why: "only reports already"},
		{name: "the node's threshold goes before the action", base: first, own: own, book: reports(0), want: "900 800"},
		{name: "its end is past", base: first, own: none, book: over, want: "2000 800"},
		{name: "another base", base: joined(t, "{name: site, threshold: 1500}", ""), own: none, book: book, want: "1500", why: "threshold 1500 here, and not 2000"},
		{name: "another count", base: joined(t, "{name: site, threshold: 2000, window: 1h}", ""), own: none, book: book, want: "2000", why: "counts something else"},
		{name: "another rule", base: joined(t, "{name: page, threshold: 2000}", ""), own: none, book: book, want: "2000", why: "no rule of this name"},
		{name: "forbidden", base: joined(t, site, "overlay: false\n"), own: none, book: book, want: "2000 800", why: "overlay: false"},
		{name: "without signatures", base: parse(t, site), own: none, book: book, want: "2000 800", why: "key_mode: require"},
		{name: "too high for another guard", base: joined(t, "{name: site, threshold: 2000, guard: 1}", ""), own: none, book: fleet.ThresholdBook{}.WithRecord(record(68000, 1), false, 0), want: "2000", why: "greater counts are not exact"},
	} {
		before := shown(test.base, 0)
		m := merge(test.base, test.own, test.book)
		got := shown(m.config, 0)
		if m.config.Rules.Rules[0].Action == edgeguard.ActionShadow {
			got += " shadow"
		}
		if got != test.want {
			t.Errorf("%s: in force are %s, want %s", test.name, got, test.want)
		}
		if len(m.fleet) != 1 || m.fleet[0].why != test.why && (test.why == "" || !strings.Contains(m.fleet[0].why, test.why)) {
			t.Errorf("%s: not in force because %+v, want %q", test.name, m.fleet, test.why)
		}
		if shown(test.base, 0) != before {
			t.Errorf("%s: the config itself is changed", test.name)
		}
	}
}
