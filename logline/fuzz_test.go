package logline

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/logline/loglinetest"
	"edgeguard/logline/scan"
)

// format is one that is fuzzed, and the line that names its columns.
type format struct{ format, head string }

// fuzzFormats are one of each parser and of each way to end a field.
var fuzzFormats = slices.Concat(withNames(), []format{
	{"docker:combined", ""},
	{"docker:json", ""},
	{"journald:combined", ""},
	{"w3c:date time c-ip cs-method cs-uri-stem x cs(user-agent) cs-uri-query cs-host", ""},
	{"csv:time=t,addr=a,path=p", "t,a,p"},
	{"$http_x $remote_addr:$remote_port $remote_user $time_iso8601 $http_y $status", ""},
	{"json:addr=a.b,time=t,path=p,user_agent=h.ua,status=s,auth_failure=k=x*,request=k=y", ""},
	{`regex:^(?P<addr>[^ ]+) (?:(?P<auth_failure>FAIL)|ok) (?P<method>[A-Z]+) (?P<path>[^ ]*) (?P<status>\d+) (?P<user_agent>.*)`, ""},
	{`regex:{a|b}Failed (?P<auth_failure>password) for .* from (?P<addr>[^ ]+)(?: (?P<forgeable>udp))? port \d+$`, ""},
	{"sshd+keycloak+samba+slapd+sendmail", ""},
	{"windows", ""},
	{"docker:gitea", ""},
	{`%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t %{c}a %a "%U%q" %p`, ""},
})

func withNames() (all []format) {
	for _, name := range Names() {
		all = append(all, format{name, ""})
	}
	return all
}

// FuzzLine holds that no line makes a parser panic, give an event that breaks
// its promises, or give strings that are not in the line's memory.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		goodLine, `{"ts":1,"request":{"client_ip":"192.0.2.1","headers":{"User-Agent":["\ud83d\ude00"]}}}`,
		`Nov 14 22:45:27 t h[7]: 192.0.2.1:5 [14/Nov/2015:22:45:25.439] m a/b 1/0/1 403 1 - - - - "GET /#22 HTTP/1.1"`,
		"2016-02-20 00:00:45,1032051418,\"a\"\"b\"", "x 2001:db8::1:5 u 2016-02-20T00:00:45Z y 200",
		`20/Feb/2016 00:00:45.123 -0500 192.0.2.1 192.0.2.1 "/a?b" 80`, `{"t":1,"a":{"b":"192.0.2.1"},"p":"/\u0041","h.ua":"x","s":200,"k":"xy"}`, `{"a.b":"::1","k":"y","t":"Nov 22 10:00:00"}`, "<134>1 2024-06-20T11:47:56Z - h 2 - [a] x", `"` + goodLine + `"`,
		`{"log":"x","stream":"a"}` + "\n" + `{"log":"9.9.9.9\n","stream":"a"}`, `{"MESSAGE":[49,57,50],"_LINE_BREAK":"line-max"}`, vectorLine, fluentLine,
		"2016-02-20T00:00:46Z stdout P " + goodLine + "2016-02-20T00:00:46Z stdout F " + goodLine,
		`{"httpRequest":{"uri":"/a","args":"b","headers":[{"name":"Host","value":"h"}]},"ip":"192.0.2.1","ts":1}`,
		"#Fields: date time c-ip x\n2016-02-20 00:00:45 192.0.2.1 a", "2016-02-20\t00:00:45\t192.0.2.1\tGET\t/%20a\tx\tb%\tc=d\th",
	} {
		f.Add([]byte(seed))
	}
	for _, e := range loglinetest.Examples {
		f.Add([]byte(e.Head + e.Line))
	}
	for _, name := range []string{"sshd", "keycloak", "samba", "slapd", "sendmail", "windows", "gitea"} {
		f.Add([]byte(served(name, 2)))
		f.Add([]byte("web-1  | " + served(name, 1)))
	}
	for _, ff := range fuzzFormats {
		formatOf(f, ff.format) // on a busy machine the first input would take too long
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, ff := range fuzzFormats {
			l := Parser{parser: parserOf(t, ff.format, ff.head)}
			p := &Chunk{Text: bytes.Clone(line)}
			l.Parse(p)
			for i := range p.Events {
				checkEvent(t, ff.format, &p.Events[i], line)
			}
			if lines := uint64(bytes.Count(line, []byte("\n")) + 1); p.Lines > lines || uint64(len(p.Events))+p.Skipped > lines {
				t.Fatalf("%s: %d lines, %d events, %d skipped of %d", ff.format, p.Lines, len(p.Events), p.Skipped, lines)
			}
		}
	})
}

func checkEvent(t *testing.T, format string, ev *edgeguard.Event, line []byte) {
	t.Helper()
	if !ev.Addr.IsValid() || ev.Addr.Is4In6() || ev.Addr.Zone() != "" {
		t.Fatalf("%s: address %v", format, ev.Addr)
	}
	if s := ev.Time.Unix(); s < 0 || s > 1<<32-1 {
		t.Fatalf("%s: time %v", format, ev.Time)
	}
	if ev.Kind == 0 || ev.Verified&^(ev.Kind&edgeguard.Verifiable) != 0 || ev.Kind&edgeguard.KindResponse != 0 && ev.Status == 0 && !strings.HasPrefix(format, "regex") {
		t.Fatalf("%s: kind %v, verified %v, status %d", format, ev.Kind, ev.Verified, ev.Status)
	}
	if len(ev.Path)+len(ev.Agent)+len(ev.Host)+len(ev.Method)+len(ev.Node) > 2*len(line) {
		t.Fatalf("%s: more text than the line has", format)
	}
}

// FuzzFormat holds that no format string makes the compiler panic, and that
// what it accepts reads any line without one.
func FuzzFormat(f *testing.F) {
	for _, seed := range []string{
		`$remote_addr [$time_local] "$request"`, "log_format x escape=json '$remote_addr' \"$msec\";", `LogFormat "%h %t \"%r\"" x`,
		`%{%d/%b/%Y}t %h`, "csv:time=a,addr=b,sep=tab", "json:addr=a.b,time=t.$x,auth_failure=e=f|g*", `regex[%d.%m.%y %T]:(?i)x(?P<time>.*) (?P<addr>\S+)$`, "regex:{a}(?:[^ ]* )*(?P<addr>[^ ]+) ", `%400,501{User-agent}i %a %{sec}t`, "${remote_addr}:$remote_port $msec",
	} {
		f.Add(seed, goodLine)
	}
	f.Fuzz(func(t *testing.T, format, line string) {
		got, err := ParseFormat(format)
		if err != nil || got == nil {
			return
		}
		p := got.start(time.UTC)
		if h, ok := p.(scan.Header); ok && h.Bind([]byte(line)) != nil {
			return
		}
		var ev edgeguard.Event
		if p.Parse([]byte(line), &ev) == scan.Read {
			checkEvent(t, format, &ev, []byte(line))
		}
	})
}
