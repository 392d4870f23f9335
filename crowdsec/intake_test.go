package crowdsec

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"edgeguard"
)

// ban is a decision of the community.
func ban(value string) *Decision {
	return &Decision{Origin: "CAPI", Type: "ban", Scope: "Ip", Value: value, Duration: "4h0m1.5s", Scenario: "crowdsecurity/http-probing"}
}

func TestAdded(t *testing.T) {
	end := noon.Add(4*time.Hour + time.Minute) // rounded up
	for _, row := range []struct {
		change func(d *Decision)
		want   string // the prefix that is blocked
		none   Skipped
	}{
		{func(*Decision) {}, "192.0.2.1/32", Skipped{}},
		{func(d *Decision) { d.Type, d.Scope = "BAN", "IP" }, "192.0.2.1/32", Skipped{}},
		{func(d *Decision) { d.Scope, d.Value = "range", "192.0.2.77/24" }, "192.0.2.0/24", Skipped{}},
		{func(d *Decision) { d.Value = "192.0.2.9/32" }, "192.0.2.9/32", Skipped{}},
		{func(d *Decision) { d.Value = "2001:db8::9" }, "2001:db8::9/128", Skipped{}},
		{func(d *Decision) { d.Value = "::ffff:192.0.2.3" }, "192.0.2.3/32", Skipped{}},
		{func(d *Decision) { d.Value = "0.0.0.0/0" }, "0.0.0.0/0", Skipped{}}, // refused by who blocks
		{func(d *Decision) { d.Type = "captcha" }, "", Skipped{Types: 1}},
		{func(d *Decision) { d.Type = "" }, "", Skipped{Types: 1}},
		{func(d *Decision) { d.Scope = "AS" }, "", Skipped{Scopes: 1}},
		{func(d *Decision) { d.Scope, d.Value = "Country", "FR" }, "", Skipped{Scopes: 1}},
		{func(d *Decision) { d.Origin = "edgeguard" }, "", Skipped{Ours: 1}},
		{func(d *Decision) { d.Origin, d.Scenario = "crowdsec", "edgeguard/site" }, "", Skipped{Ours: 1}},
		{func(d *Decision) { d.Value = "" }, "", Skipped{Invalid: 1}},
		{func(d *Decision) { d.Value = "fe80::1%eth0" }, "", Skipped{Invalid: 1}},
		{func(d *Decision) { d.Value = "::ffff:192.0.2.0/120" }, "", Skipped{Invalid: 1}},
		{func(d *Decision) { d.Value = "192.0.2.1-192.0.2.9" }, "", Skipped{Invalid: 1}},
		{func(d *Decision) { d.Duration = "" }, "", Skipped{Invalid: 1}},
		{func(d *Decision) { d.Duration = "-3s" }, "", Skipped{Invalid: 1}},
		{func(d *Decision) { d.Duration = "999999999h" }, "", Skipped{Invalid: 1}},
	} {
		f := Filter{Most: 10}
		a := f.Answer(noon, true)
		d := ban("192.0.2.1")
		row.change(d)
		a.Added(d)
		got := ""
		for _, e := range a.Add {
			got = e.Prefix.String()
			if !e.Until.Equal(end) || e.Reason != "CAPI: crowdsecurity/http-probing" {
				t.Errorf("%v: %v", *d, e)
			}
		}
		if got != row.want || a.Skipped != row.none {
			t.Errorf("%v: %q %+v, want %q %+v", *d, got, a.Skipped, row.want, row.none)
		}
	}
}

// An end is at most a minute late and never early, and is not after the end of time.
func TestUntil(t *testing.T) {
	for _, row := range []struct {
		left time.Duration
		want time.Time
	}{
		{time.Nanosecond, noon.Add(time.Minute)}, {time.Minute, noon.Add(time.Minute)}, {time.Minute + 1, noon.Add(2 * time.Minute)},
		{290 * 365 * 24 * time.Hour, edgeguard.Forever},
	} {
		if got := until(noon, row.left); !got.Equal(row.want) {
			t.Errorf("%v: %v", row.left, got)
		}
	}
}

func TestFilter(t *testing.T) {
	for _, row := range []struct {
		f    Filter
		want bool
	}{
		{Filter{}, true}, {Filter{Origins: []string{"lists", "capi"}}, true}, {Filter{Origins: []string{"lists"}}, false},
		{Filter{Containing: []string{"ssh", "http-"}}, true}, {Filter{Containing: []string{"ssh"}}, false},
		{Filter{NotContaining: []string{"probing"}}, false}, {Filter{NotContaining: []string{"ssh"}}, true},
		{Filter{Containing: []string{"http"}, NotContaining: []string{"probing"}}, false},
	} {
		row.f.Most = 10
		a := row.f.Answer(noon, false)
		a.Added(ban("192.0.2.1"))
		if got := len(a.Add) == 1; got != row.want || (a.Skipped.Filtered == 1) == row.want {
			t.Errorf("%+v: %v", row.f, got)
		}
	}
}

// What was deleted is lifted whoever had made it: LAPI 1.4.6 names one of several at random.
func TestDeleted(t *testing.T) {
	f := Filter{Most: 2, Origins: []string{"lists"}}
	a := f.Answer(noon, false)
	own := ban("192.0.2.1")
	own.Origin, own.Scenario, own.Duration = "edgeguard", "edgeguard/site", "-8ms"
	a.Deleted(own)
	challenge := ban("192.0.2.2")
	challenge.Type = "captcha" // a ban of the same address may be in force
	a.Deleted(challenge)
	if want := []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}; !slices.Equal(a.Gone, want) {
		t.Errorf("%v", a.Gone)
	}
	for i := range 9 {
		a.Deleted(ban(fmt.Sprintf("192.0.2.%d", i)))
	}
	if len(a.Gone) != 3 {
		t.Errorf("%d are kept: one more than is held is enough to know", len(a.Gone))
	}
	whole := f.Answer(noon, true)
	if whole.Deleted(own); len(whole.Gone) > 0 {
		t.Error("a whole answer needs none")
	}
}

// Whoever writes the list chooses neither how much memory it takes nor what a terminal does.
func TestHostileReasons(t *testing.T) {
	f := Filter{Most: 2000}
	a := f.Answer(noon, true)
	for i := range 3000 {
		d := ban("192.0.2.1")
		d.Scenario = fmt.Sprintf("%s\x1b]0;%d", strings.Repeat("é", i%100), i)
		a.Added(d)
	}
	if len(a.Add) != 2000 || a.Skipped.NoRoom != 1000 {
		t.Errorf("%d, %+v", len(a.Add), a.Skipped)
	}
	texts := map[string]bool{}
	for _, e := range a.Add {
		if texts[e.Reason] = true; len(e.Reason) > mostReason || !utf8.ValidString(e.Reason) || strings.ContainsRune(e.Reason, '\x1b') {
			t.Fatalf("%q", e.Reason)
		}
	}
	if len(texts) > mostReasons+1 {
		t.Errorf("%d reasons", len(texts))
	}
}

// FuzzAdded holds that whatever a decision has, an entry is a masked prefix that ends later.
func FuzzAdded(f *testing.F) {
	f.Add("CAPI", "ban", "Ip", "192.0.2.1", "4h", "crowdsecurity/ssh-bf")
	f.Add("lists", "ban", "Range", "2001:db8::/32", "99999h59m58.7s", "x\xff")
	f.Fuzz(func(t *testing.T, origin, kind, scope, value, duration, scenario string) {
		filter := Filter{Most: 1}
		a := filter.Answer(noon, false)
		d := Decision{Origin: origin, Type: kind, Scope: scope, Value: value, Duration: duration, Scenario: scenario}
		a.Added(&d)
		a.Deleted(&d)
		for _, e := range a.Add {
			if e.Prefix != e.Prefix.Masked() || e.Prefix.Addr().Is4In6() || e.Prefix.Addr().Zone() != "" || !e.Until.After(noon) || len(e.Reason) > mostReason {
				t.Fatalf("%+v of %+v", e, d)
			}
		}
	})
}
