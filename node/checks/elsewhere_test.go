package checks

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/config"
)

// newOthers returns a check of a node on which a confirm_share of 20 % is in force, and at
// which forty addresses of 198.18.0.0/16 and of 100.64.0.0/10 send half of the requests each.
func newOthers(t *testing.T) (*judged, *Others) {
	j := newJudged(t)
	for round := range 50 {
		for i := range 40 {
			at := testBegin.Add(time.Duration(round) * time.Second)
			j.request(fmt.Sprintf("198.18.%d.7", i), at)
			j.request(fmt.Sprintf("100.64.%d.7", i), at)
		}
	}
	return j, &Others{
		Current: j.Current, List: j.list, Imported: imported.New(imported.Config{Own: j.list}), Alarms: j.alarms,
		Held: func() map[blocklist.Source]int { return nil }, Most: func(*config.Config) float64 { return 0.2 },
	}
}

// one returns what is said of one source; the test fails if there is another one.
func (e *Others) one(t *testing.T) admin.Elsewhere {
	t.Helper()
	var s admin.Stats
	e.Report(&s)
	if len(s.Elsewhere) != 1 {
		t.Fatalf("%+v", s.Elsewhere)
	}
	return s.Elsewhere[0]
}

// What is in force from elsewhere is added up by its source, and one that refuses or
// spares over confirm_share is an alarm for as long as it does.
func TestOthers(t *testing.T) {
	agree := func(prefix string, allow bool, trust blocklist.Trust) func(*judged, *Others) {
		return func(j *judged, _ *Others) {
			b := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "manual", Since: testBegin, Until: testBegin.Add(time.Hour), Version: 1, Allow: allow}
			if _, err := j.list.Agree(b, trust, testBegin); err != nil {
				t.Fatal(err)
			}
		}
	}
	forced := blocklist.Trust{Forced: true, Signed: true}
	for name, c := range map[string]struct {
		do    func(*judged, *Others)
		want  admin.Elsewhere // its share to a tenth
		alarm string
	}{
		"signed": {agree("198.16.0.0/12", false, forced), admin.Elsewhere{Source: "nodes_signed", Kind: "block", Records: 1, IPv4: 1 << 20, Share: 0.5},
			"other nodes of the fleet refuse 5"},
		"unsigned": {agree("198.18.0.0/16", false, blocklist.Trust{}), admin.Elsewhere{Source: "nodes_unsigned", Kind: "block", Records: 1, IPv4: 1 << 16, Share: 0.5},
			"other nodes of the fleet, unsigned, refuse 5"},
		"allowed": {agree("198.18.0.0/16", true, forced), admin.Elsewhere{Source: "nodes_signed", Kind: "allowance", Records: 1, IPv4: 1 << 16, Share: 0.5},
			"other nodes of the fleet spare 5"},
		"of nobody here":   {agree("2001:db8::/47", false, forced), admin.Elsewhere{Source: "nodes_signed", Kind: "block", Records: 1, IPv6: 2}, ""},
		"within the share": {agree("198.18.0.0/22", false, forced), admin.Elsewhere{Source: "nodes_signed", Kind: "block", Records: 1, IPv4: 1 << 10, Share: 0.05}, ""},
		"an owner": {func(j *judged, _ *Others) {
			b := edgeguard.Block{Prefix: netip.MustParsePrefix("198.18.0.0/16"), Rule: edgeguard.OwnerRule("fail2ban"), Since: testBegin, Until: testBegin.Add(time.Hour)}
			if _, _, err := j.list.AddOwned(b, testBegin); err != nil {
				t.Fatal(err)
			}
		}, admin.Elsewhere{Source: "owner", Name: "fail2ban", Kind: "block", Records: 1, IPv4: 1 << 16, Share: 0.5}, "the owner fail2ban refuses 5"},
		"a list": {func(_ *judged, e *Others) {
			e.Imported.Replace("drop", []imported.Entry{{Prefix: netip.MustParsePrefix("198.18.0.0/16"), Until: testBegin.Add(time.Hour)}}, testBegin)
		}, admin.Elsewhere{Source: "list", Name: "drop", Kind: "block", Records: 1, IPv4: 1 << 16, Share: 0.5}, "look at `edgeguard blocklists` and"},
		"only waiting": {func(_ *judged, e *Others) {
			e.Held = func() map[blocklist.Source]int { return map[blocklist.Source]int{{Kind: blocklist.Unsigned}: 7} }
		}, admin.Elsewhere{Source: "nodes_unsigned", Kind: "block", Held: 7}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			j, e := newOthers(t)
			c.do(j, e)
			now := testBegin.Add(time.Minute)
			e.Check(now)
			got := e.one(t)
			if diff := got.Share - c.want.Share; diff > 0.1 || diff < -0.1 {
				t.Errorf("the share is %.2f, want %.2f", got.Share, c.want.Share)
			}
			if got.Share = c.want.Share; got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if said := j.conditions(); !strings.Contains(said, c.alarm) || (said == "") != (c.alarm == "") {
				t.Errorf("the alarm says %q, want %q", said, c.alarm)
			}
			later := testBegin.Add(2 * time.Hour) // all has ended
			j.list.Sweep(later)
			e.Imported.Sweep(later)
			e.Held = func() map[blocklist.Source]int { return nil }
			e.Check(later)
			var s admin.Stats
			if e.Report(&s); j.conditions() != "" || slices.ContainsFunc(s.Elsewhere, func(one admin.Elsewhere) bool { return one.Records > 0 }) {
				t.Errorf("after the end: %+v, %q", s.Elsewhere, j.conditions())
			}
		})
	}
}

// A config that asks for no confirmations has no alarm.
func TestOthersWithoutShare(t *testing.T) {
	j, e := newOthers(t)
	e.Most = func(*config.Config) float64 { return 1 }
	e.Imported.Replace("all", []imported.Entry{{Prefix: netip.MustParsePrefix("198.18.0.0/16"), Until: testBegin.Add(time.Hour)}, {Prefix: netip.MustParsePrefix("100.64.0.0/16"), Until: testBegin.Add(time.Hour)}}, testBegin)
	if e.Check(testBegin.Add(time.Minute)); j.conditions() != "" {
		t.Error(j.conditions())
	}
}

// A list of countries is many thousand networks, as wide as whole continents: it is in
// force, it is told, and nothing of it waits.
func TestCountryList(t *testing.T) {
	j, e := newOthers(t)
	const n = 20_000
	var entries []imported.Entry
	for i := range n - 1 {
		a := 30<<24 + uint32(i)<<16
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16)}), 16)
		entries = append(entries, imported.Entry{Prefix: p, Until: testBegin.Add(time.Hour)})
	}
	entries = append(entries, imported.Entry{Prefix: netip.MustParsePrefix("2a00:1000::/24"), Wide: true, Until: testBegin.Add(time.Hour)})
	if out := e.Imported.Replace("countries", entries, testBegin); out.InForce != n || out.Refused != (imported.Refused{}) {
		t.Fatalf("%+v", out)
	}
	e.Check(testBegin.Add(time.Minute))
	got := e.one(t)
	if got.Records != n || got.IPv4 != (n-1)<<16 || got.IPv6 != 1<<24 || got.Held != 0 || got.Share < 0.3 {
		t.Errorf("%+v", got)
	}
	if said := j.conditions(); !strings.Contains(said, "the list countries refuses") {
		t.Errorf("%q", said)
	}
	if standing, _ := e.Imported.FindHit(testBegin.Add(time.Minute), netip.MustParseAddr("100.64.3.7")); standing != blocklist.Blocked {
		t.Error("the list is told, and not in force")
	}
}
