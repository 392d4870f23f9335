package overlay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator/fleet"
	"edgeguard/config"
)

func parse(t *testing.T, rules string) *config.Config {
	t.Helper()
	c, err := config.Parse("c", []byte("rules: ["+rules+"]"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// shown is what decides of a rule: its threshold and candidates.
func shown(c *config.Config, rule int) string {
	r := c.Rules.Rules[rule]
	text := fmt.Sprint(r.Threshold)
	for _, one := range r.Candidates {
		text += fmt.Sprintf(" %d", one.Threshold)
	}
	return text
}

// Of an overlay that is in force on one config, what becomes of it on top of another.
func TestMerge(t *testing.T) {
	first := parse(t, "{name: site, threshold: 2000, candidates: [500]}, {name: login, threshold: 20}")
	on := func(threshold, base uint32, candidates ...uint32) *config.Overlay {
		r := config.RuleOverlay{Name: "site", Meter: fingerprint(first, 0), Threshold: threshold, Base: base}
		for _, c := range candidates {
			r.Candidates = append(r.Candidates, config.CandidateOverlay{Threshold: c})
		}
		return &config.Overlay{Rules: []config.RuleOverlay{r}}
	}
	for _, test := range []struct {
		name, rules string
		o           *config.Overlay
		want        string // what decides
		kept, ended int
		out         string
	}{
		{name: "nothing", rules: "{name: site, threshold: 2000}", o: &config.Overlay{}, want: "2000"},
		{name: "a threshold", rules: "{name: site, threshold: 2000, candidates: [500]}", o: on(800, 2000), want: "800 500", kept: 1},
		{name: "and candidates", rules: "{name: site, threshold: 2000, candidates: [500]}", o: on(800, 2000, 700, 600), want: "800 500 600 700", kept: 1},
		{name: "candidates alone", rules: "{name: site, threshold: 1999}", o: on(0, 0, 700), want: "1999 700", kept: 1},
		{name: "its own candidate in force", rules: "{name: site, threshold: 2000}", o: on(800, 2000, 800), want: "800", kept: 1},
		{name: "the config's candidate in force", rules: "{name: site, threshold: 2000, candidates: [500]}", o: on(500, 2000), want: "500", kept: 1},
		{name: "the config's candidate once more", rules: "{name: site, threshold: 2000, candidates: [500]}", o: on(0, 0, 500), want: "2000 500", kept: 1},
		{name: "another base", rules: "{name: site, threshold: 1500}", o: on(800, 2000), want: "1500", ended: 1},
		{name: "another base, and a candidate", rules: "{name: site, threshold: 1500}", o: on(800, 2000, 700), want: "1500 700", kept: 1, ended: 1},
		{name: "the config has it now", rules: "{name: site, threshold: 800}", o: on(800, 2000), want: "800", ended: 1},
		{name: "another count", rules: "{name: site, threshold: 2000, window: 1h}", o: on(800, 2000, 700), want: "2000", ended: 1},
		{name: "no such rule", rules: "{name: page, threshold: 2000}", o: on(800, 2000), want: "2000", kept: 1, out: "no rule of this name"},
		{name: "too high for another guard", rules: "{name: site, threshold: 2000, guard: 1}", o: on(68000, 2000), want: "2000", kept: 1, out: "greater counts are not exact"},
		{name: "another order", rules: "{name: login, threshold: 20}, {name: site, threshold: 2000}", o: on(800, 2000), want: "20", kept: 1},
	} {
		base := parse(t, test.rules)
		before := shown(base, 0)
		m := merge(base, test.o, fleet.ThresholdBook{})
		if got := shown(m.config, 0); got != test.want {
			t.Errorf("%s: in force are %s, want %s", test.name, got, test.want)
		}
		if len(m.kept.Rules) != test.kept || len(m.ended) != test.ended {
			t.Errorf("%s: kept %+v, ended %+v", test.name, m.kept.Rules, m.ended)
		}
		if out := fmt.Sprint(m.out); (len(m.out) > 0) != (test.out != "") || !strings.Contains(out, test.out) {
			t.Errorf("%s: kept out %+v, want %q", test.name, m.out, test.out)
		}
		if shown(base, 0) != before {
			t.Errorf("%s: the config itself is changed", test.name)
		}
	}
}

// Only a config with the same threshold ends it without an alarm.
func TestAlike(t *testing.T) {
	first := parse(t, "{name: site, threshold: 2000}")
	o := &config.Overlay{Rules: []config.RuleOverlay{{Name: "site", Meter: fingerprint(first, 0), Threshold: 800, Base: 2000}}}
	for threshold, alike := range map[int]bool{800: true, 900: false} {
		m := merge(parse(t, fmt.Sprintf("{name: site, threshold: %d}", threshold)), o, fleet.ThresholdBook{})
		if len(m.ended) != 1 || m.ended[0].alike != alike {
			t.Errorf("threshold %d: %+v", threshold, m.ended)
		}
	}
}

// A rule that only reports for a time is the config's rule again once that is over, and one whose
// config says the same ends.
func TestShadowForATime(t *testing.T) {
	base := parse(t, "{name: site, threshold: 2000}")
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	o := &config.Overlay{Rules: []config.RuleOverlay{{Name: "site", Meter: fingerprint(base, 0), Shadow: true, Until: at}}}
	m := merge(base, o, fleet.ThresholdBook{})
	if got := m.config.Rules.Rules[0]; got.Action != edgeguard.ActionShadow || got.Threshold != 2000 || base.Rules.Rules[0].Action != edgeguard.ActionBlock {
		t.Errorf("%+v", got)
	}
	if due := m.kept.Due(at.Add(-time.Second)); len(due) != 0 {
		t.Errorf("too soon: %+v", due)
	}
	due := m.kept.Due(at)
	if len(due) != 1 || !m.kept.With(due[0].Undecided()).Of("site").Empty() {
		t.Fatalf("%+v", due)
	}
	m = merge(parse(t, "{name: site, threshold: 2000, action: shadow}"), o, fleet.ThresholdBook{})
	if len(m.ended) != 1 || !m.ended[0].alike || len(m.kept.Rules) != 0 {
		t.Errorf("%+v, %+v", m.ended, m.kept)
	}
}

// TestShadowOfAnyRule: a rule that only reports for now loses what only rules have that refuse.
func TestShadowOfAnyRule(t *testing.T) {
	for _, rule := range []string{
		"escalate: [1h, 24h], provoked_for: 1h", "while_over: true", "action: deny, on_fleet_loss: closed",
		"action: deny, key: {address: none, with: [path]}, everybody: true",
	} {
		base := parse(t, "{name: a, threshold: 20, "+rule+"}")
		m := merge(base, &config.Overlay{Rules: []config.RuleOverlay{{Name: "a", Meter: fingerprint(base, 0), Shadow: true}}}, fleet.ThresholdBook{})
		if r := m.config.Rules.Rules[0]; len(m.out) > 0 || r.Action != edgeguard.ActionShadow {
			t.Errorf("%s: %v, kept out %v", rule, r.Action, m.out)
		}
	}
}
