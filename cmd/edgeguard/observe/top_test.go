package observe

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"edgeguard/admin"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/words"
)

// The fleet is one line of the screen: how it goes, or in red what to do, which
// the conditions then need not repeat.
func TestTopShowsTheFleet(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const fix = "Redis cannot be reached: look whether it runs"
	lost := admin.Fleet{Namespace: "edge", Trouble: "unreachable", Fix: fix, Since: now.Add(-12 * time.Second)}
	well := admin.Fleet{Namespace: "edge", Up: true, Alive: 3, PushLag: 0.31, Pushed: 1500, Suspects: 1, Ahead: -0.0004}
	for _, c := range []struct {
		name          string
		before, fleet *admin.Fleet
		want          string // "" means no line
	}{
		{"alone", nil, nil, ""},
		{"up", &admin.Fleet{Pushed: 500}, &well, "fleet edge: 3 nodes, pushed 0.3 s ago, 1,000 keys/s of 1 suspect, clock -0.4 ms\n"},
		{"just joined", nil, &well, "1,500 keys/s"},
		{"a broken node", nil, &admin.Fleet{Namespace: "edge", Up: true, Staying: 8}, "clock +0.0 ms, 8 blocks not to be sent: this node may be broken\n"},
		{"a flood", nil, &admin.Fleet{Namespace: "edge", Up: true, Unpublished: 98_000}, "clock +0.0 ms, 98,000 blocks to be sent\n"},
		{"lost", &well, &lost, output.Red + "fleet edge degraded for 12s: " + fix + output.Reset + "\n"},
		{"joining", nil, &admin.Fleet{Namespace: "edge", Fix: "wait"}, output.Red + "fleet edge degraded: wait" + output.Reset + "\n"},
	} {
		before := admin.Stats{Time: now.Add(-time.Second), Fleet: c.before}
		after := admin.Stats{Time: now, Started: now, Fleet: c.fleet}
		alarms := []admin.Alarm{admin.NewAlarm("disk", admin.PartState, "the disk is full", now, true, false)}
		if c.fleet.Lost() != "" {
			alarms = append(alarms, admin.NewAlarm("fleet", admin.PartFleet, c.fleet.Fix, now, true, false))
		}
		after.Judge(alarms)
		var screen bytes.Buffer
		drawTop(&screen, &command.Env{Colour: true}, &before, &after, nil, &admin.Top{})
		if got := screen.String(); (c.want == "") == strings.Contains(got, "fleet") || !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, got)
		} else if strings.Count(got, "! ") != 1 {
			t.Errorf("%s: the conditions:\n%s", c.name, got)
		}
	}
}

// Who is near the limits of several rules has one row. On a terminal no row is longer than
// it: the reason is cut, and no number is. A pipe has all.
func TestTopFitsTheScreen(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	top := admin.Top{
		Keys: []admin.KeyCount{{Rule: "web/paths", Shown: "2001:db8:ffff:ffff::/64", Count: 1520, Limit: 950, More: 2, Unit: words.Measure{Each: 5, One: "different path", Many: "different paths"}}, {Rule: "site", Shown: "198.51.100.17", Count: 171, Limit: 190}},
		Newest: []admin.Block{{Prefix: netip.MustParsePrefix("203.0.113.45/32"), Rule: "wordpress/login", Count: 382, Limit: 380, Unit: words.Measure{Each: 2, One: "attempt", Many: "attempts"}, Since: now, Until: now.Add(time.Hour),
			Origin: "edge-1", Reason: "over limit: " + strings.Repeat("many words ", 20)}},
	}
	for _, width := range []int{0, 20, 60, 80, 110} {
		var screen bytes.Buffer
		drawTop(&screen, &command.Env{Width: width}, &admin.Stats{Time: now}, &admin.Stats{Time: now, Started: now}, []admin.Attack{{Rules: []string{"login"}, Networks: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}, NetworkCount: 5000, Began: now, Last: now}}, &top)
		_, tables, _ := strings.Cut(screen.String(), "\n\n")
		if width == 0 && (!strings.Contains(tables, "web/paths  +2 rules    304    190  different paths  160.0 %\n") || !strings.Contains(tables, strings.TrimSpace(top.Newest[0].Reason)+"\n") || !strings.Contains(tables, "  191    190  attempts  2026")) {
			t.Errorf("in a pipe:\n%s", tables)
		}
		if width >= 80 && !strings.Contains(tables, "+2 rules    304    190  different paths") {
			t.Errorf("at %d:\n%s", width, tables)
		}
		for line := range strings.Lines(tables) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
				t.Errorf("at %d a row has %d letters: %s", width, n, line)
			}
		}
	}
}
