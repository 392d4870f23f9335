package observe

import (
	"bytes"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/haproxy"
)

// Of each log and each listener for HAProxies, status says when its last event was counted, or that none was. Forward
// auth has no such time.
func TestSourcesSayWhenTheyLastDelivered(t *testing.T) {
	var out bytes.Buffer
	drawSources(&out, false, &admin.Stats{
		Sources:   []admin.Source{{Name: "auth 127.0.0.1:9180", Events: 3}, {Name: "log /a.log", Events: 7}, {Name: "log /b.log"}, {Name: "haproxy unix:/a", Events: 5}, {Name: "haproxy unix:/b"}},
		Logs:      []admin.Log{{Name: "/a.log", Last: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, {Name: "/b.log"}},
		HAProxies: []haproxy.ListenerFigures{{Address: "unix:/a", LastCounted: time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)}, {Address: "unix:/b"}},
	})
	for _, line := range []string{`auth 127\.0\.0\.1:9180 +3`, `log /a\.log +7 +2026-03-01 12:00:00Z`, `log /b\.log +0 +never`, `haproxy unix:/a +5 +2026-03-01 13:00:00Z`, `haproxy unix:/b +0 +never`} {
		if !regexp.MustCompile(`(?m)^` + line + ` *$`).MatchString(out.String()) {
			t.Errorf("no line %q in\n%s", line, out.String())
		}
	}
}

// A source that shows only what stands before the site is named, with the fix.
func TestStatusNamesFrontDoors(t *testing.T) {
	var out bytes.Buffer
	drawSources(&out, false, &admin.Stats{Sources: []admin.Source{{Name: "log /a.log", FrontDoor: "private"}, {Name: "log /b.log"}, {Name: "log /c.log", FrontDoor: "Fastly"}}})
	got := out.String()
	if !strings.Contains(got, "log /a.log: its clients are private addresses, so nobody in it is blocked. ") || !strings.Contains(got, "log /c.log: its clients are addresses of Fastly") ||
		!strings.Contains(got, "real_ip_header") || strings.Contains(got, "/b.log:") {
		t.Error(got)
	}
}

// A log that says it lacks lines is named, and one whose lines are not understood.
func TestStatusNamesSuppressedLines(t *testing.T) {
	var out bytes.Buffer
	drawSources(&out, false, &admin.Stats{Sources: []admin.Source{{Name: "log /a.log"}, {Name: "log /b.log"}}, Logs: []admin.Log{{Name: "/a.log", Suppressed: 1200, Unread: []string{"20 lines of x"}}, {Name: "/b.log"}}})
	if got := out.String(); !strings.Contains(got, "log /a.log: it says that 1,200 lines were suppressed") || strings.Contains(got, "/b.log:") || !strings.Contains(got, "log /a.log: 20 lines of x\n") {
		t.Error(got)
	}
}

// Of lines that the kernel does not count, status says how many were lost at least, and where HAProxy is asked at most.
func TestLostLines(t *testing.T) {
	for want, l := range map[string]admin.Log{
		"":           {Name: "unixgram:/a"},
		"3 or more":  {Name: "unixgram:/a", Lost: 3},
		"3 to 2,451": {Name: "unixgram:/a", Lost: 3, Dropped: 2451},
		"0 to 1":     {Name: "unixgram:/a", Dropped: 1},
		"5 or more":  {Name: "unixgram:/a", Lost: 5, Dropped: 4}, // what HAProxy dropped was not asked yet
		"7":          {Name: "udp:127.0.0.1:514", Lost: 7},
	} {
		if got := lost(&l); got != want {
			t.Errorf("%+v: %q, want %q", l, got, want)
		}
	}
}

// A condition, as of a file of the state that could not be read, is a line of its own, whole and without what a terminal obeys.
func TestStatusNamesConditions(t *testing.T) {
	var out bytes.Buffer
	s := &admin.Stats{Node: "a", Ready: true}
	s.Judge([]admin.Alarm{admin.NewAlarm("state", admin.PartState, "node.state could not be used: it is renamed to /state/node.state.aside-1\x1b[2J. Remove it", time.Time{}, true, false)})
	drawStatus(&command.Env{Stdout: &out}, s)
	if got, want := out.String(), "state     degraded\n  bad       state          Nothing is saved: no state folder\n          ! node.state could not be used: it is renamed to /state/node.state.aside-1"; !strings.Contains(got, want) || strings.Contains(got, "\x1b") {
		t.Errorf("%q, want %q and no escape", got, want)
	}
	if state(s) == "ok" {
		t.Error("the command ends well")
	}
}

// What an operator should look at has a line with the command for it.
func TestStatusNamesWhoMayBeACustomer(t *testing.T) {
	n := admin.Need{Text: "2 addresses are blocked and may be customers: \x1b[1mx.", Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.7/32"), netip.MustParsePrefix("2001:db8::/64")}}
	if got, want := needLine(&n), "2 addresses are blocked and may be customers: ?[1mx: edgeguard explain 203.0.113.7, 2001:db8::"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	n = admin.Need{Text: "A few count far above.", Rule: "site", Threshold: 80}
	if got, want := needLine(&n), "A few count far above: edgeguard rules site"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
