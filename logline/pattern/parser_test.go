package pattern

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/logline/scan"
)

// TestLines reads lines with groups of every sort.
func TestLines(t *testing.T) {
	const (
		at    = "2026-02-03T04:05:06Z "
		login = `{}(?P<auth_failure>refused) (?P<addr>[^ ]+)(?: over (?P<forgeable>udp))?$`
	)
	for _, test := range []struct{ name, format, line, want string }{
		{"syslog", `{sshd}(?P<auth_failure>Failed) for .* from (?P<addr>[^ ]+) port \d+$`, "Feb  3 04:05:06 web-1 sshd[17]: Failed for a from 9.9.9.9 port 1 from 192.0.2.1 port 22",
			"192.0.2.1 " + at + "auth_failure verified auth_failure"},
		{"another program", `{sshd}(?P<auth_failure>Failed) for .* from (?P<addr>[^ ]+) port \d+$`, "Feb  3 04:05:06 web-1 nginx: sshd[17]: Failed for a from 192.0.2.1 port 22", string(scan.Aside)},
		{"RFC 5424", `{a|b}x (?P<addr>[^ ]+)$`, `<30>1 2026-02-03T05:05:06.0+01:00 web.example.org b 158 - [m s="1"] x 2001:db8::1`, "2001:db8::1 " + at + "request verified request"},
		{"no tag", `{a|b}x (?P<addr>[^ ]+)$`, "Feb  3 04:05:06 web-1 x 192.0.2.1", string(scan.Aside)},
		{"forgeable", login, "2026/02/03 04:05:06 refused 192.0.2.1:5060 over udp", "192.0.2.1 " + at + "auth_failure verified "},
		{"not forgeable", login, "[2026-02-03 05:05:06 +0100] refused ::ffff:192.0.2.1", "192.0.2.1 " + at + "auth_failure verified auth_failure"},
		{"container", login, "2026-02-03T04:05:06Z stderr F refused 192.0.2.1", "192.0.2.1 " + at + "auth_failure verified auth_failure"},
		{"no time", login, "refused 192.0.2.1", string(noStamp)},
		{"no address", login, "2026/02/03 04:05:06 refused 1.2.3", string(scan.BadAddr)},
		{"a host name", login, "2026/02/03 04:05:06 refused example.org", string(scan.Aside)},
		{"access log", `^(?P<time>\d+) (?P<addr>[^ ]+) (?P<method>[A-Z]+) (?P<path>[^ ]+) (?P<status>\d+) (?P<host>[^ ]+) (?P<port>\d+) (?P<node>[^ ]+) (?P<user_agent>.*)$`,
			`1770091506 192.0.2.1 GET /a?b\x22 404 example.org 443 n a\b`, "192.0.2.1 " + at + `request+response verified request+response GET /a?b\x22 404 example.org 443 n a\b`},
		{"request line", `^(?P<addr>[^ ]+) \[(?P<time>[^\]]+)\] "(?P<request_line>.*)" -$`, `192.0.2.1 [03/Feb/2026:04:05:06 +0000] "GET /a"b HTTP/1.1" -`, "192.0.2.1 " + at + `request verified request GET /a"b 0  0  `},
		{"a time that is none", `^(?P<addr>[^ ]+) (?P<time>.*)$`, "192.0.2.1 yesterday", string(scan.BadTime)},
		{"a kind or none", `^(?P<time>\d+) (?:(?P<rejection>limited)|ok) (?P<addr>[^ ]+) `, "1770091506 limited 192.0.2.1 ", "192.0.2.1 " + at + "rejection verified rejection"},
		{"a kind or none, none", `^(?P<time>\d+) (?:(?P<rejection>limited)|ok) (?P<addr>[^ ]+) `, "1770091506 ok 192.0.2.1 ", "192.0.2.1 " + at + "request verified request"},
		{"packets cannot be verified", `^(?P<time>\d+) (?P<syn>SYN) (?P<addr>[^ ]+) `, "1770091506 SYN 192.0.2.1 ", "192.0.2.1 " + at + "syn verified "},
		{"too long", `^(?P<time>\d+) (?P<addr>[^ ]+) `, "1770091506 192.0.2.1 " + strings.Repeat("x", maxText), string(tooLong)},
	} {
		f, err := CompileExpressions("", test.format)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		p := f.Parser(time.UTC)
		p.(scan.Dated).SetLatest(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
		var ev edgeguard.Event
		got := string(p.Parse([]byte(test.line), &ev))
		if got == "" {
			got = ev.Addr.String() + " " + ev.Time.Format(time.RFC3339) + " " + ev.Kind.String() + " verified " + ev.Verified.String()
			if ev.Known != 0 {
				got += strings.Join([]string{"", ev.Method, ev.Path, number(ev.Status), ev.Host, number(ev.Port), ev.Node, ev.Agent}, " ")
			}
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if kinds := f.Kinds(); ev.Kind&^kinds != 0 {
			t.Errorf("%s: reports %v, and Kinds has only %v", test.name, ev.Kind, kinds)
		}
	}
}

func number(n uint16) string { return strconv.Itoa(int(n)) }

// TestLayout reads a time whose layout is given: nobody can guess which of two
// numbers is the day.
func TestLayout(t *testing.T) {
	for format, want := range map[string]string{
		`regex[%d/%m/%Y %T]:^(?P<time>[^,]*), (?P<addr>[^ ]+) `: "2026-02-01T10:00:00Z",
		`regex[%m/%d/%Y %T]:^(?P<time>[^,]*), (?P<addr>[^ ]+) `: "2026-01-02T10:00:00Z",
	} {
		f, err := ParseExpressions(format)
		if err != nil {
			t.Fatal(err)
		}
		var ev edgeguard.Event
		if why := f.Parser(time.UTC).Parse([]byte("01/02/2026 10:00:00, 192.0.2.1 "), &ev); why != scan.Read || ev.Time.Format(time.RFC3339) != want {
			t.Errorf("%s: %s %v, want %s", format, why, ev.Time, want)
		}
	}
}
