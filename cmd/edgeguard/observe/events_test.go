package observe

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/internal/safetext"
)

var prefix = netip.MustParsePrefix

// What another node, or who writes to Redis, wrote into an event acts on no terminal.
func TestHostileEvents(t *testing.T) {
	const hostile = "a\x1b[2J\u202eb\r\nforged"
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, e := range []admin.Event{
		{Time: now, Kind: admin.EventBlock, Block: &admin.Block{Rule: hostile, Origin: hostile, Reason: hostile, Count: 6, Limit: 5}},
		{Time: now, Kind: admin.EventUnblock, Block: &admin.Block{Origin: hostile, Reason: hostile}},
		{Time: now, Kind: admin.EventAllow, Allowance: &admin.Allowance{Origin: hostile, Reason: hostile}},
		{Time: now, Kind: admin.EventDisallow, Allowance: &admin.Allowance{Origin: hostile, Reason: hostile}},
		{Time: now, Kind: admin.EventAlarm, Name: hostile, Text: hostile},
		{Time: now, Kind: hostile, Text: hostile},
		{Kind: admin.EventGap, Text: hostile},
	} {
		var out bytes.Buffer
		if err := printEvent(&command.Env{Stdout: &out}, &e); err != nil {
			t.Fatal(err)
		}
		if line, ok := strings.CutSuffix(out.String(), "\n"); !ok || !safetext.Clean(line) || !strings.Contains(line, "forged") {
			t.Errorf("%s: %q", e.Kind, out.String())
		}
	}
}

// Filters choose by the block or allowance of an event; a gap is always shown.
func TestChosenEvents(t *testing.T) {
	now := time.Now()
	block := admin.Event{Time: now, Kind: admin.EventBlock, Block: &admin.Block{Prefix: prefix("203.0.113.9/32"), Rule: "login"}}
	wide := admin.Event{Time: now, Kind: admin.EventAllow, Allowance: &admin.Allowance{Prefix: prefix("203.0.112.0/22")}}
	alarm := admin.Event{Time: now, Kind: admin.EventAlarm, Name: "log"}
	old := admin.Event{Time: now.Add(-time.Hour), Kind: admin.EventAlarm}
	gap := admin.Event{Kind: admin.EventGap}
	for _, c := range []struct {
		name string
		o    chosen
		want string
	}{
		{"all", chosen{}, "block wide alarm old gap"},
		{"a rule", chosen{rule: "login"}, "block gap"},
		{"an address", chosen{within: prefix("203.0.113.9/32")}, "block wide gap"},
		{"another address", chosen{within: prefix("203.0.113.8/32")}, "wide gap"},
		{"a network", chosen{within: prefix("203.0.0.0/16")}, "block wide gap"},
		{"both", chosen{rule: "login", within: prefix("203.0.113.8/32")}, "gap"},
		{"the last minute", chosen{since: now.Add(-time.Minute)}, "block wide alarm gap"},
	} {
		var got []string
		for _, e := range []struct {
			name string
			admin.Event
		}{{"block", block}, {"wide", wide}, {"alarm", alarm}, {"old", old}, {"gap", gap}} {
			if c.o.matches(&e.Event) {
				got = append(got, e.name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}
