package observe

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/cmd/edgeguard/command"
)

// Keys choose, order and filter rows, and nothing is unblocked but by u and then y.
func TestTopKeys(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	k := new(topKeys)
	draw := func() string {
		top := admin.Top{
			Keys:   []admin.KeyCount{{Rule: "site", Shown: "198.51.100.1", Count: 9, Limit: 10}, {Rule: "web", Shown: "198.51.100.2 host=\"a\x1b[2J\"", Count: 50, Limit: 100}},
			Newest: []admin.Block{{Prefix: netip.MustParsePrefix("203.0.113.9/32"), Rule: "login", Since: now, Until: now.Add(time.Hour)}, {Prefix: netip.MustParsePrefix("203.0.113.0/24"), Rule: edgeguard.ManualRule, Since: now, Until: now.Add(time.Hour)}},
		}
		attacks := k.choose([]admin.Attack{{Rules: []string{"login"}, Networks: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}, NetworkCount: 1, Began: now, Last: now}}, &top)
		var screen bytes.Buffer
		drawTop(&screen, &command.Env{Width: 80}, &admin.Stats{Time: now}, &admin.Stats{Time: now, Started: now}, attacks, &top)
		k.draw(&screen)
		return screen.String()
	}
	press := func(want topAct, keys ...string) {
		t.Helper()
		for i, key := range keys {
			got := k.press(key)
			draw()
			if i == len(keys)-1 && got != want {
				t.Errorf("%q does %d, want %d", keys, got, want)
			}
		}
	}
	marked := func(want string) {
		t.Helper()
		if screen := draw(); strings.Count(screen, "\x1b[7m"+want+"\x1b[27m") != 1 {
			t.Errorf("%s is not chosen:\n%q", want, screen)
		}
	}
	marked("198.51.100.1")
	press(topDraws, keyUp)
	marked("198.51.100.1")
	press(topDraws, "r")
	if screen := draw(); strings.Index(screen, "198.51.100.2") > strings.Index(screen, "198.51.100.1") || strings.Contains(screen, "\x1b[2J") {
		t.Errorf("not by requests, or a client's escape is drawn:\n%q", screen)
	}
	press(topDraws, "j", keyDown, "j", "j", "j", "j")
	marked("203.0.113.0/24")
	press(topDraws, "u")
	if !strings.Contains(draw(), "unblock 203.0.113.0/24 on all nodes") {
		t.Error("it does not ask")
	}
	press(topDraws, "n")
	press(topDraws, "y")
	press(topUnblocks, "u", "y")
	k.asks = netip.Prefix{}
	press(topExplains, keyEnter)
	press(topDraws, "/", "2", "0", "3", "x", keyBack, "q")
	if k.only != "203q" || strings.Contains(draw(), "198.51.100.1") {
		t.Errorf("%q:\n%s", k.only, draw())
	}
	press(topDraws, "u") // no row is left
	press(topDraws, keyEnter)
	if prefix, ok := k.chosen(); ok {
		t.Errorf("%s is chosen of nothing", prefix)
	}
	press(topDraws, "/", keyEscape)
	press(topDraws, "?")
	if !strings.Contains(draw(), "unblock it (asks)") {
		t.Error("no help")
	}
	press(topEnds, "q")
	press(topEnds, "/", keyInterrupt)
}

// What a terminal sends at once is as many keys.
func TestSplitKeys(t *testing.T) {
	want := []string{"j", keyUp, keyDown, keyEnter, keyEnter, "\x1b", "x", "\x1b["}
	if got := splitKeys("j\x1b[A\x1bOB\r\n\x1bx\x1b["); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
