package logline

import (
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/logline/scan"
)

// TestPaths reads JSON of the Elastic Common Schema, of Google's Cloud Logging and
// of a program that reports logins.
func TestPaths(t *testing.T) {
	const (
		ecs   = "json:addr=source.ip,time=@timestamp,method=http.request.method,path=url.original,status=http.response.status_code,user_agent=user_agent.original,host=url.domain"
		gcp   = "json:addr=httpRequest.remoteIp,time=timestamp,method=httpRequest.requestMethod,path=httpRequest.requestUrl,status=httpRequest.status,user_agent=httpRequest.userAgent"
		login = "json:addr=client.ip,time=t.$date,auth_failure=event=login_failed|locked,rejection=event=denied*"
		at    = "192.0.2.1 2026-11-22T10:00:00Z"
	)
	for _, test := range []struct{ name, format, line, want string }{
		{"ECS", ecs, `{"@timestamp":"2026-11-22T10:00:00.000Z","source":{"ip":"192.0.2.1","port":7},"http":{"request":{"method":"GET"},"response":{"status_code":404}},"url":{"original":"/a?b=\u0063\"","domain":"h.example"},"user_agent":{"original":"x"}}`,
			at + rr + `method=GET host=h.example path=/a?b=c" agent=x 404`},
		{"ECS, names in one", ecs, `{"@timestamp":"2026-11-22T10:00:00.000Z","source.ip":"192.0.2.1","http.request":{"method":"GET"},"http":{"response.status_code":404},"url.original":"/"}`,
			at + rr + "method=GET path=/ 404"},
		{"behind syslog", ecs, `Nov 22 10:00:00 web-1 app[7]: {"@timestamp":"2026-11-22T10:00:00Z","source":{"ip":"192.0.2.1"}}`, at + " request"},
		{"GCP", gcp, `{"httpRequest":{"remoteIp":"192.0.2.1","requestMethod":"POST","requestUrl":"https://h.example/a","status":200,"userAgent":"x"},"timestamp":"2026-11-22T10:00:00.000000Z"}`,
			at + rr + "method=POST path=https://h.example/a agent=x 200"},
		{"a login", login, `{"t":{"$date":"2026-11-22T10:00:00Z"},"event":"login_failed","client":{"ip":"192.0.2.1:4711"}}`, at + " auth_failure"},
		{"the other word", login, `{"event":"locked","t":{"$date":1795341600},"client":{"ip":"192.0.2.1"}}`, at + " auth_failure"},
		{"a beginning", login, `{"event":"denied by rule 7","t":{"$date":1795341600},"client":{"ip":"192.0.2.1"}}`, at + " rejection"},
		{"of no client", login, `{"event":"login_ok","t":{"$date":1795341600},"client":{"ip":"192.0.2.1"}}`, string(scan.Aside)},
		{"of no client, and without an address", login, `{"event":"started"}`, string(scan.Aside)},
		{"no address", ecs, `{"@timestamp":"2026-11-22T10:00:00Z","source":{"port":7}}`, "no address at the path of addr"},
		{"no time", ecs, `{"source":{"ip":"192.0.2.1"}}`, "no time at the path of time"},
		{"two addresses", ecs, `{"@timestamp":"2026-11-22T10:00:00Z","source":{"ip":"192.0.2.1"},"source.ip":"9.9.9.9"}`, "has the path of addr twice"},
		{"a list", ecs, `{"@timestamp":"2026-11-22T10:00:00Z","source":{"ip":["192.0.2.1"]}}`, "no address at the path of addr"},
		{"null", ecs, `{"@timestamp":"2026-11-22T10:00:00Z","source":{"ip":null}}`, "no address at the path of addr"},
		{"a host name", ecs, `{"@timestamp":"2026-11-22T10:00:00Z","source":{"ip":"example.org"}}`, string(scan.BadAddr)},
		{"elsewhere", ecs, `{"@timestamp":"2026-11-22T10:00:00Z","x":{"source":{"ip":"9.9.9.9"}},"source":{"x":{"ip":"9.9.9.9"},"ip":"192.0.2.1"}}`, at + " request"},
		{"no end", ecs, `{"@timestamp":"2026-11-22T10:00:00Z","source":{"ip":"192.0.2.1"}`, "not a JSON object"},
		{"more behind", ecs, `{"@timestamp":"2026-11-22T10:00:00Z","source":{"ip":"192.0.2.1"}} x`, "not a JSON object"},
		{"text", ecs, `x`, "not a JSON object"},
		{"empty", ecs, `{}`, "no address at the path of addr"},
	} {
		p := parserOf(t, test.format, "")
		var ev edgeguard.Event
		got := string(scan.ParseLine(p, []byte(test.line), &ev))
		if got == "" {
			got = shown(&ev)
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	for format, why := range map[string]string{
		"json:": "not FIELD=PATH", "json:addr=a": "time= are required", "json:addr=a,time=b,addr=c": "twice", "json:addr=a,time=a": "both",
		"json:addr=a..b,time=c": "not a path", "json:addr=a.b.c.d.e.f.g.h.i,time=c": "not a path", "json:addr=a,time=b,foo=c": `unknown field "foo"`,
		"json:addr=a,time=b,auth_failure=c": "has no value", "json:addr=a,time=b" + strings.Repeat(",syn=c=d", 64): "more than 64",
	} {
		if _, err := ParseFormat(format); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: error %v, want %q", format, err, why)
		}
	}
}
