package config_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"edgeguard/config"
)

func sampleOverlay() *config.Overlay {
	at := time.Date(2026, 11, 22, 12, 9, 2, 0, time.UTC)
	return &config.Overlay{Rules: []config.RuleOverlay{
		{Name: "site", Meter: "0123456789012345", Threshold: 800, Base: 2000,
			Changed:    config.Changed{Since: at, By: `token "ops-1"`, Note: "ticket 4711: # it's {not} [yaml]"},
			Candidates: []config.CandidateOverlay{{Threshold: 700, Changed: config.Changed{Since: at, By: "socket, uid 0"}}, {Threshold: 900}}},
		{Name: "true", Meter: "1e10", Candidates: []config.CandidateOverlay{{Threshold: 1, Changed: config.Changed{Note: "Ümlaut, \\ and \""}}}},
	}}
}

// What is written is read back to the same, whatever an operator wrote.
func TestOverlayReadsBack(t *testing.T) {
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for _, o := range []*config.Overlay{sampleOverlay(), {}, {Rules: []config.RuleOverlay{
		{Name: "site", Meter: "aa", Shadow: true, Until: at, Changed: config.Changed{Since: at, By: "uid 0"}},
		{Name: "login", Meter: "aa", Shadow: true, Threshold: 3, Base: 2},
		{Name: "scan", Meter: "aa", Threshold: 3, Base: 2, Until: at},
	}}} {
		again, err := config.ParseOverlay("overlay.yaml", []byte(o.YAML()))
		if err != nil {
			t.Fatalf("%v\n%s", err, o.YAML())
		}
		if !reflect.DeepEqual(again, o) {
			t.Errorf("read back as\n%+v, want\n%+v\n%s", again, o, o.YAML())
		}
	}
}

// A file with a mistake is refused as a whole, with its place.
func TestOverlayRefuses(t *testing.T) {
	const good = "rules:\n  - rule: site\n    meter: aa\n    threshold: 800\n    base: 2000\n"
	if _, err := config.ParseOverlay("f", []byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"unknown field":     good + "    treshold: 7\n",
		"no base":           "rules: [{rule: site, meter: aa, threshold: 800}]",
		"no threshold":      "rules: [{rule: site, meter: aa, base: 800}]",
		"no rule":           "rules: [{meter: aa, threshold: 800, base: 2000}]",
		"no meter":          "rules: [{rule: site, threshold: 800, base: 2000}]",
		"nothing":           "rules: [{rule: site, meter: aa}]",
		"a zero":            strings.Replace(good, "800", "0", 1),
		"a negative":        strings.Replace(good, "800", "-1", 1),
		"too large":         strings.Replace(good, "800", "99999999999", 1),
		"twice":             good + strings.TrimPrefix(good, "rules:\n"),
		"no time":           good + "    since: yesterday\n",
		"a long note":       good + "    note: " + strings.Repeat("x", 257) + "\n",
		"a control":         good + `    note: "a\u202eb"` + "\n",
		"another action":    good + "    action: deny\n",
		"an end of nothing": "rules: [{rule: site, meter: aa, until: \"2026-01-02T15:04:05Z\", candidates: [{threshold: 1}]}]",
		"no end":            good + "    until: soon\n",
		"candidate alone":   "rules: [{rule: site, meter: aa, candidates: [{note: a}]}]",
		"many candidates":   "rules: [{rule: site, meter: aa, candidates: [" + strings.Repeat("{threshold: 1},", 33) + "]}]",
		"not a mapping":     "- a",
		"not YAML":          "{",
		"who, of nothing":   "rules: [{rule: site, meter: aa, by: me, candidates: [{threshold: 1}]}]",
		"empty":             "",
		"cut to its head":   "# What operators changed\n",
		"cut to no rules":   "{}",
		"not UTF-8":         "rules: \xff",
		"a config":          "node: a\nrules: [{name: a, threshold: 1}]",
		"two documents":     good + "---\n" + good,
		"too many fields":   "rules:\n" + strings.Repeat("  - {rule: a, meter: b, threshold: 1, base: 2}\n", 3000),
		"larger than 1 MiB": good + strings.Repeat("#", 1<<20),
	} {
		if o, err := config.ParseOverlay("f", []byte(text)); err == nil {
			t.Errorf("%s is accepted: %+v", name, o)
		}
	}
}

// A rule's overlay is put in, replaced and removed, and the overlay before it is
// not changed: it is still shown.
func TestOverlayWith(t *testing.T) {
	before := sampleOverlay()
	site := before.Of("site")
	site.Threshold = 900
	after := before.With(site)
	if before.Of("site").Threshold != 800 || after.Of("site").Threshold != 900 || len(after.Rules) != 2 {
		t.Errorf("replaced: %+v, then %+v", before, after)
	}
	gone := after.With(config.RuleOverlay{Name: "site"})
	if len(gone.Rules) != 1 || gone.Rules[0].Name != "true" || len(after.Rules) != 2 {
		t.Errorf("removed: %+v", gone)
	}
	if same := gone.With(config.RuleOverlay{Name: "other"}); len(same.Rules) != 1 {
		t.Errorf("a rule without a change: %+v", same)
	}
}

// FuzzOverlay holds that no file panics, and that one that is read is written so
// that it means the same.
func FuzzOverlay(f *testing.F) {
	f.Add([]byte(sampleOverlay().YAML()))
	f.Add([]byte("rules: [{rule: a, meter: '1', threshold: 1, base: 2, since: '0001-01-01T00:00:00+23:59'}]"))
	f.Add([]byte("rules: {rule: a, meter: b, since: \"0001-01-01T00:00:01Z\", candidates: {threshold: 10}}"))
	f.Add([]byte("rules: {rule: a, meter: b, candidates: {threshold: 1, by: \"\\x41\"}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			t.Skip("longer files say no more")
		}
		o, err := config.ParseOverlay("f", data)
		if err != nil {
			return
		}
		again, err := config.ParseOverlay("g", []byte(o.YAML()))
		if err != nil || !reflect.DeepEqual(again, o) {
			t.Fatalf("read back as %+v, %v, want %+v\n%s", again, err, o, o.YAML())
		}
	})
}
