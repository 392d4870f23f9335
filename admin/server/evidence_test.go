package server_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/server"
)

// What is kept is shown; for anything else the answer says why there is none.
func TestEvidence(t *testing.T) {
	n := newNode()
	kept := netip.MustParsePrefix("203.0.113.9/32")
	e := edgeguard.Evidence{Prefix: kept, Rule: "site", Node: "n1", Since: start, Until: start.Add(time.Hour), Count: 1901, Limit: 1900, Threshold: 2000,
		Width: 5, Fleet: true, Split: []edgeguard.Part{{Node: "n1", Count: 1000}, {Node: "n2", Count: 901}}}
	e.Slots[59] = 1000
	n.evidence = map[netip.Prefix]edgeguard.Evidence{kept: e}
	for prefix, b := range map[string]edgeguard.Block{
		"198.51.100.1/32":  {Rule: "site", Origin: "n2"},
		"198.51.100.2/32":  {Rule: edgeguard.ManualRule, Origin: "n2"},
		"198.51.100.3/32":  {Rule: "site", Origin: "n1"},
		"198.51.100.64/26": {Rule: "site", Origin: "n1"},
	} {
		b.Prefix, b.Since, b.Until = netip.MustParsePrefix(prefix), start, start.Add(time.Hour)
		if _, _, err := n.list.Add(b, false, start); err != nil {
			t.Fatal(err)
		}
	}
	s := serverOf(t, n, server.Config{})
	get := func(prefix string) string {
		return answerOf(s, "GET /api/v1/evidence/{prefix}", prefix, "unix")
	}
	var got admin.Evidence
	_, body, _ := strings.Cut(get("203.0.113.9"), "{")
	if err := json.Unmarshal([]byte("{"+body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Prefix != kept || got.Count != 1901 || got.Limit != 1900 || got.Threshold != 2000 || got.Window != 300 || len(got.Slots) != 60 ||
		got.Slots[59] != 1000 || len(got.Split) != 2 || got.Split[1] != (admin.NodeCount{Node: "n2", Count: 901}) || !got.Since.Equal(start) {
		t.Errorf("%+v", got)
	}
	for prefix, why := range map[string]string{
		"198.51.100.1":     "ask node n2",
		"198.51.100.2":     "blocked by hand",
		"198.51.100.3":     "not kept",
		"198.51.100.65":    "use 198.51.100.64/26",
		"203.0.113.10":     "has made no block",
		"203.0.113.9%2f24": "has host bits",
	} {
		if got := get(prefix); !strings.Contains(got, why) || strings.Contains(got, "slots") {
			t.Errorf("%s: %s, want %q", prefix, got, why)
		}
	}
}
