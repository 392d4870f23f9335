package logline

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/logline/scan"
)

var parsed sync.Map // formats by their texts: an expression takes milliseconds to compile

func formatOf(t testing.TB, format string) *Format {
	t.Helper()
	if f, ok := parsed.Load(format); ok {
		return f.(*Format)
	}
	f, err := ParseFormat(format)
	if err != nil {
		t.Fatal(err)
	}
	parsed.Store(format, f)
	return f
}

// parserOf returns a parser of a format, its header read.
func parserOf(t testing.TB, format, head string) scan.LineParser {
	t.Helper()
	f := formatOf(t, format)
	p := f.start(time.UTC)
	if h, ok := p.(scan.Header); ok {
		if err := h.Bind([]byte(head)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// shown is an event in one line, to compare.
func shown(ev *edgeguard.Event) string {
	s := ev.Addr.String() + " " + ev.Time.Format(time.RFC3339Nano) + " " + ev.Kind.String()
	if ev.Verified != ev.Kind {
		s += " unverified"
	}
	if ev.Proxied {
		s += " proxied"
	}
	for _, f := range []struct {
		field edgeguard.Field
		value string
	}{
		{edgeguard.FieldMethod, ev.Method}, {edgeguard.FieldHost, ev.Host}, {edgeguard.FieldPath, ev.Path},
		{edgeguard.FieldAgent, ev.Agent}, {edgeguard.FieldNode, ev.Node},
	} {
		if ev.Known&f.field != 0 {
			s += " " + f.field.String() + "=" + f.value
		} else if f.value != "" {
			s += " unknown " + f.field.String() + "=" + f.value
		}
	}
	if ev.Known&edgeguard.FieldStatus != 0 {
		s += " " + strconv.Itoa(int(ev.Status))
	}
	if ev.Known&edgeguard.FieldPort != 0 {
		s += " port=" + strconv.Itoa(int(ev.Port))
	}
	return s
}

const rr = " request+response "

func TestFormats(t *testing.T) {
	const nginxMain = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for"`
	for _, test := range []struct{ name, format, head, line, want string }{
		{"combined", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 -0500] "GET /a?b=c HTTP/1.1" 200 187 "-" "Agent/1.0 (x; y)"`,
			"192.0.2.1 2016-02-20T05:00:45Z" + rr + "method=GET path=/a?b=c agent=Agent/1.0 (x; y) 200"},
		{"combined, something after the agent", "combined", "", `192.0.2.1 - bob [20/Feb/2016:00:00:45 +0000] "GET / HTTP/2.0" 404 - "-" "-" "203.0.113.9" 0.1`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/ agent= 404"},
		{"combined, agent not closed", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12 "-" "Mozilla (x`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/ 404"},
		{"combined, a user with blanks and brackets", "combined", "", `192.0.2.1 - a [b] [01/Jan/2099:00:00:00 +0000] [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12 "-" "-"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/ agent= 404"},
		{"combined, a user who would be skipped for his brackets", "combined", "", `192.0.2.1 - ` + strings.Repeat(" [", 8000) + ` [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12 "-" "-"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/ agent= 404"},
		{"combined, wrapped in quotes", "combined", "", `"192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12 "-" "x""`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/ agent=x 404"},
		{"combined, from syslog", "combined", "", `<190>Nov 21 09:54:00 web1 nginx: 192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12 "-" "x"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/ agent=x 404"},
		{"combined, no zone", "combined", "", `192.0.2.12 - user1 [27/Jun/2013:11:55:44] "GET /knocking/ HTTP/1.1" 200 266`,
			"192.0.2.12 2013-06-27T11:55:44Z" + rr + "method=GET path=/knocking/ 200"},
		{"combined, mapped address", "combined", "", `::ffff:192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12 "-" "x"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/ agent=x 404"},
		{"combined, v6 with a zone", "combined", "", `fe80::1%eth0 - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12 "-" "x"`,
			"fe80::1 2016-02-20T00:00:45Z" + rr + "method=GET path=/ agent=x 404"},
		{"combined, no request line", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "-" 408 - "-" "-"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "agent= 408"},
		{"combined, a worm", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "\x03\x00\x00/*\xE0\x00 Cookie: mstshash=Administr" 400 47 "-" "-"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "agent= 400"},
		{"combined, escapes", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET /a\"b\x22\\ c HTTP/1.1" 400 47 "-" "x\ty\\"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/a\"b\"\\ c agent=x\ty\\ 400"},
		{"combined, no status", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.1" 000 0 "-" "-"`,
			"192.0.2.1 2016-02-20T00:00:45Z request method=GET path=/ agent="},
		{"combined, leap second", "combined", "", `192.0.2.1 - - [31/Dec/2016:23:59:60 +0000] "GET / HTTP/1.1" 200 0 "-" "-"`,
			"192.0.2.1 2017-01-01T00:00:00Z" + rr + "method=GET path=/ agent= 200"},
		{"combined, blanks around the target", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "POST   /a  HTTP/1.1  " 200 0 "-" "-"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=POST path=/a agent= 200"},
		{"combined, two blanks and an odd version", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "POST  /a HTTP/1.10" 200 0 "-" "-"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=POST path=/a agent= 200"},
		{"combined, HTTP/0.9 with blanks", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET  /a " 200 0 "-" "-"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/a agent= 200"},
		{"combined, nothing but a version", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET  HTTP/1.1" 400 0 "-" "-"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "agent= 400"},
		{"combined, a dash for a method", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "- /a HTTP/1.1" 200 0 "-" "-"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=- path=/a agent= 200"},
		{"combined, a long method", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-ABCDEFGHIJKLMNOPQRSTUVWXYZ /a HTTP/1.1" 200 0 "-" "-"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=ABCDEFGHIJKLMNOPQRSTUVWXYZ_-ABCDEFGHIJKLMNOPQRSTUVWXYZ path=/a agent= 200"},
		{"combined, Apache's empty user", "combined", "", `192.0.2.1 - "" [20/Feb/2016:00:00:45 +0000] "GET /a HTTP/1.1" 401 0 "-" "-"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/a agent= 401"},
		{"combined, a user of escaped quotes", "combined", "", `192.0.2.1 - \"\" [20/Feb/2016:00:00:45 +0000] "GET /a HTTP/1.1" 401 0 "-" "-"`,
			"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/a agent= 401"},
		{"combined, cut in the request", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0 404 12`,
			"192.0.2.1 2016-02-20T00:00:45Z request method=GET"},
		{"combined, cut in the query", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET /a?b`,
			"192.0.2.1 2016-02-20T00:00:45Z request method=GET path=/a?b"},
		{"combined, cut in the status", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET /a HTTP/1.1"`,
			"192.0.2.1 2016-02-20T00:00:45Z request method=GET path=/a"},
		{"apache, an empty user at the end", `%h %t %u`, "", `192.0.2.1 [20/Feb/2016:00:00:45 +0000] ""`, "192.0.2.1 2016-02-20T00:00:45Z request"},
		{"common", "common", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 -0500] "HEAD / HTTP/1.1" 200 187`,
			"192.0.2.1 2016-02-20T05:00:45Z" + rr + "method=HEAD path=/ 200"},
		{"vhost_combined", "vhost_combined", "", `www.example.org:443 192.0.2.1 - - [20/Feb/2016:00:00:45 -0500] "HEAD / HTTP/1.1" 200 187 "-" "x"`,
			"192.0.2.1 2016-02-20T05:00:45Z" + rr + "method=HEAD host=www.example.org path=/ agent=x 200 port=443"},
		{"nginx main", nginxMain, "", `192.0.2.1 - - [20/Feb/2016:00:00:45 -0500] "POST /x HTTP/1.1" 302 0 "-" "a" "203.0.113.9, 198.51.100.2"`,
			"192.0.2.1 2016-02-20T05:00:45Z" + rr + "method=POST path=/x agent=a 302"},
		{"nginx directive", "log_format main escape=json '$remote_addr [$time_iso8601] '\n  '\"$request\" ${status} $host';", "",
			`2001:db8::1 [2016-02-20T00:00:45-05:00] "POST /\u0041\/ HTTP/1.1" 302 example.org`,
			"2001:db8::1 2016-02-20T05:00:45Z" + rr + "method=POST host=example.org path=/A/ 302"},
		{"nginx, tabs and milliseconds", "$msec\t$remote_addr\t$request_method\t$host\t$request_uri\t$status\t$http_user_agent\t$server_port\t$hostname", "",
			"1455944445.123\t192.0.2.1\tGET\texample.org\t/a b\t200\tx y\t8080\tedge-1",
			"192.0.2.1 2016-02-20T05:00:45.123Z" + rr + "method=GET host=example.org path=/a b agent=x y node=edge-1 200 port=8080"},
		{"nginx, free fields without quotes", "$remote_addr $time_local $request $status $http_user_agent", "",
			"192.0.2.1 20/Feb/2016:00:00:45 -0500 GET /x HTTP/1.1 200 Mozilla 5 200 x",
			"192.0.2.1 2016-02-20T05:00:45Z" + rr + "method=GET path=/x agent=Mozilla 5 200 x 200"},
		{"nginx, behind a proxy", `$remote_addr $realip_remote_addr [$time_local] "$request"`, "",
			`192.0.2.1 10.0.0.1 [20/Feb/2016:00:00:45 -0500] "GET / HTTP/1.1"`, "192.0.2.1 2016-02-20T05:00:45Z request proxied method=GET path=/"},
		{"nginx, only the peer", `$realip_remote_addr [$time_local]`, "", `192.0.2.1 [20/Feb/2016:00:00:45 -0500]`, "192.0.2.1 2016-02-20T05:00:45Z request"},
		{"nginx, address and port", `$remote_addr:$remote_port [$time_local]`, "", `2001:db8::1:5555 [20/Feb/2016:00:00:45 -0500]`, "2001:db8::1 2016-02-20T05:00:45Z request"},
		{"nginx, JSON of one's own", `{"a":"$remote_addr","t":$msec,"r":"$request","s":$status}`, "", `{"a":"192.0.2.1","t":1455944445.000,"r":"GET /\x22 HTTP/1.1","s":200}`,
			"192.0.2.1 2016-02-20T05:00:45Z" + rr + "method=GET path=/\" 200"},
		{"apache directive", `LogFormat "%v:%p %a %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" vhost`, "",
			`example.org:443 192.0.2.1 - - [20/Feb/2016:00:00:45 -0500] "GET / HTTP/1.1" 200 5 "-" "x"`,
			"192.0.2.1 2016-02-20T05:00:45Z" + rr + "method=GET host=example.org path=/ agent=x 200 port=443"},
		{"haproxy's log-format", `%ci:%cp %fi [%t] %HM %HP %HV %ST %B %hr`, "", `Nov 27 10:00:10 lb haproxy[26325]: 192.0.2.1:1935 10.0.0.9 [27/Nov/2026:10:00:10.636] GET /vod/#22a HTTP/1.1 401 675 {|Mozilla/5.0 (Windows)}`,
			"192.0.2.1 2026-11-27T10:00:10.636Z" + rr + `method=GET path=/vod/"a 401`},
		{"haproxy's log-format, as it stands", `log-format "%{+Q}r %ST %[src]:%[src_port] [%trl] %{+Q}[capture.req.hdr(0)] %U"`, "", `"POST https://example.org/a?b HTTP/2.0" 403 2001:db8::1:443 [27/Nov/2026:10:00:10 +0100] "x" 192.0.2.9" 7`,
			"2001:db8::1 2026-11-27T09:00:10Z" + rr + "method=POST path=/a?b 403"},
		{"haproxy's log-format, escaped", `log-format %ci:%cp\ [%tr]\ %HM\ %HPO%HQ\ %ST\ %hr`, "", `192.0.2.1:1935 [27/Nov/2026:10:00:10.636] <BADREQ> <BADREQ> -1 `,
			"192.0.2.1 2026-11-27T10:00:10.636Z request"},
		{"apache, times in parts", `%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t %a %m %U%q %s %{c}a`, "", `20/Feb/2016 00:00:45.123 -0500 192.0.2.1 GET /a?b 200 192.0.2.9`,
			"192.0.2.1 2016-02-20T05:00:45.123Z" + rr + "proxied method=GET path=/a?b 200"},
		{"apache, epoch", `%{msec}t %h %400,501{Host}i|%!200s %%`, "", `1455944445123 192.0.2.1 a b|404 %`, "192.0.2.1 2016-02-20T05:00:45.123Z" + rr + "host=a b 404"},
		{"apache, microseconds", `%{begin:usec}t %h`, "", `1455944445123456 192.0.2.1`, "192.0.2.1 2016-02-20T05:00:45.123456Z request"},
		{"json, caddy", "json", "", `{"level":"info","ts":1455944445.5,"request":{"remote_ip":"10.0.0.1","client_ip":"192.0.2.1","method":"GET","host":"h:1","uri":"/\u00e9","headers":{"User-Agent":["curl","x"],"X":[]}},"status":401}`,
			"192.0.2.1 2016-02-20T05:00:45.5Z" + rr + "proxied method=GET host=h:1 path=/é agent=curl 401"},
		{"json, old caddy", "json", "", `{"ts":"2016-02-20T05:00:45Z","request":{"remote_addr":"[2001:db8::1]:5","method":"GET","uri":"/"},"status":200}`,
			"2001:db8::1 2016-02-20T05:00:45Z" + rr + "method=GET path=/ 200"},
		{"json, traefik", "json", "", `{"ClientAddr":"192.0.2.1:39490","ClientHost":"203.0.113.9","DownstreamStatus":404,"OriginStatus":200,"RequestHost":"h","RequestMethod":"GET","RequestPath":"/x","StartUTC":"2016-02-20T05:00:45.123456789Z","time":"2016-02-20T05:00:46Z"}`,
			"192.0.2.1 2016-02-20T05:00:45.123456789Z" + rr + "method=GET host=h path=/x 404"},
		{"json, nginx", "json", "", `{"ts": "1455944445.000", "ip": "192.0.2.1", "m": "GET", "u": "/a", "s": "200", "ua": ""}`,
			"192.0.2.1 2016-02-20T05:00:45Z" + rr + "method=GET path=/a agent= 200"},
		{"json, nginx, request line", "json", "", `{"time_local":"20/Feb/2016:00:00:45 -0500","remote_addr":"192.0.2.1","request":"GET /a HTTP/1.1","status":200,"x":[{"ip":"9.9.9.9"}],"n":null}`,
			"192.0.2.1 2016-02-20T05:00:45Z" + rr + "method=GET path=/a 200"},
		{"json, envoy in a container", "json", "", `2025-12-31T17:37:40.493035218+01:00 stdout F {"start_time":"2016-02-20T05:00:45.479Z","method":"GET",":path":"/","response_code":404,"downstream_remote_address":"192.0.2.1:59292",":authority":"app"}`,
			"192.0.2.1 2016-02-20T05:00:45.479Z" + rr + "method=GET host=app path=/ 404"},
		{"haproxy", "haproxy", "", `Nov 14 22:45:27 test haproxy[760]: 192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main app/app1 1939/0/1/0/1940 403 5168 - - ---- 3/3/0/0/0 0/0 {a "b|c} "GET /#22x HTTP/1.1"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + `method=GET path=/"x 403`},
		{"haproxy, edgeguard's log-format", "haproxy", "", `<134>192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main~ app/app1 1939/0/1/0/1940 403 5168 - - ---- 3/3/0/0/0 0/0 edgeguard{h:8080|http://r/|a#7C#7Bb#7D#22#23} "GET /#22x HTTP/1.1"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + `method=GET host=h:8080 path=/"x agent=a|{b}"# 403`},
		{"haproxy, edgeguard's log-format in full", `log-format "%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B - - %tsc %ac/%fc/%bc/%sc/%rc %sq/%bq edgeguard%hr %hs %{+Q}r"`, "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main app/app1 1939/0/1/0/1940 403 5168 - - ---- 3/3/0/0/0 0/0 edgeguard{h||a} "GET / HTTP/1.1"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + `method=GET host=h path=/ agent=a 403`},
		{"haproxy, edgeguard's log-format, empty, beside other captures", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main app/app1 1939/0/1/0/1940 403 5168 - - ---- 3/3/0/0/0 0/0 edgeguard{x|y|h||} {z} "GET / HTTP/1.1"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + `method=GET host=h path=/ agent= 403`},
		{"haproxy, edgeguard's log-format, nothing captured", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main app/app1 1939/0/1/0/1940 400 5168 - - ---- 3/3/0/0/0 0/0 edgeguard  "<BADREQ>"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + `400`},
		{"haproxy, edgeguard's log-format, cut in the agent", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main app/app1 1939/0/1/0/1940 403 5168 - - ---- 3/3/0/0/0 0/0 edgeguard{h||a`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + `403`},
		{"haproxy, a cookie as edgeguard's log-format", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main app/app1 1939/0/1/0/1940 403 5168 c=- - ---- 3/3/0/0/0 0/0 edgeguard{h||a} - ---- 3/3/0/0/0 0/0 "GET / HTTP/1.1"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + `method=GET path=/ 403`},
		{"haproxy, bare, aborted", "haproxy", "", `2001:db8::1234:58430 [14/Nov/2015:22:45:11.608] main~ main/<NOSRV> -1/-1/-1/-1/0 -1 248 - - PR-- 0/0/0/0/0 0/0 "<BADREQ>"`,
			"2001:db8::1234 2015-11-14T22:45:11.608Z request"},
		{"haproxy, RFC 5424", "haproxy", "", `<134>1 2024-06-20T11:47:56.817934+02:00 - haproxy 266980 - - 127.0.0.1:50516 [20/Jun/2024:11:47:56.766] b b/s1 0/0/24/27/51 404 379 - - ---- 1/1/0/0/0 0/0 "GET /index.html HTTP/1.1"`,
			"127.0.0.1 2024-06-20T09:47:56.766Z" + rr + "method=GET path=/index.html 404"},
		{"haproxy, a backslash is no escape", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "GET /a\x2fb/#5c HTTP/1.1"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + `method=GET path=/a\x2fb/\ 200`},
		{"haproxy, httpslog", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "GET /a HTTP/1.1" 0/0000000000000000/0/0/0 a"b c"/TLSv1.3/x`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=GET path=/a 200"},
		{"haproxy, HTTP/2", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "POST https://example.org/a?b HTTP/2.0"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=POST path=/a?b 200"},
		{"haproxy, HTTP/2, an authority with a query", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "POST https://h?x#23y/a?b HTTP/2.0"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=POST path=/a?b 200"},
		{"haproxy, HTTP/3, an authority with a fragment", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "POST HTTP://#23/a HTTP/3.0"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=POST path=/a 200"},
		{"haproxy, HTTP/2 without a path", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "OPTIONS https://example.org HTTP/2.0"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=OPTIONS path=https://example.org 200"},
		{"haproxy, HTTP/2, a scheme that is passed on", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "POST x://h?x/a HTTP/2.0"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=POST path=x://h?x/a 200"},
		{"haproxy, HTTP/1, a query behind the authority", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "POST http://h?x/a HTTP/1.1"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=POST path=http://h?x/a 200"},
		{"haproxy, an authority with a query, and the version is cut", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "POST https://h?x/a`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=POST 200"},
		{"haproxy, an authority with a query, cut", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "POST https://h?x"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=POST 200"},
		{"haproxy, the line is cut in the path", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "GET /a`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=GET 200"},
		{"haproxy, the line is cut in the query", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "GET /a?bc`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=GET path=/a?bc 200"},
		{"haproxy, the line is cut before the request", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 {a b`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "200"},
		{"haproxy, the line is cut before the request's first letter", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "200"},
		{"haproxy, the request is cut in the path", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "GET /a/./"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=GET 200"},
		{"haproxy, the version is shortened", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "GET /a HT"`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=GET path=/a 200"},
		{"haproxy, the version is missing", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 "GET /a "`,
			"192.0.2.1 2015-11-14T22:45:25.439Z" + rr + "method=GET path=/a 200"},
		{"json, caddy, a hash is no fragment", "json", "", `{"ts":1455944445.5,"request":{"remote_ip":"192.0.2.1","method":"GET","uri":"/#/../a?b#c"},"status":200}`,
			"192.0.2.1 2016-02-20T05:00:45.5Z" + rr + "method=GET path=/%23/../a?b%23c 200"},
		{"csv", "csv:time=datetime,addr=src,node=host,port=dpt", "datetime,host,src,proto,type,spt,dpt", `2013-03-03 21:53:59,groucho-oregon,1032051418,TCP,,6000,1433`,
			"61.131.218.218 2013-03-03T21:53:59Z request node=groucho-oregon port=1433"},
		{"csv, quoted", "csv:time=t,addr=a,path=p,agent=g,method=m,status=s,host=h", `"t",a,"p",g,m,s,h`, `1455944445.25,"192.0.2.1","/a,""b""",x,GET,200,h`,
			"192.0.2.1 2016-02-20T05:00:45.25Z" + rr + `method=GET host=h path=/a,"b" agent=x 200`},
		{"csv, semicolons", "csv;:time=t,addr=a", "a;t;x", `2001:db8::1;2016-02-20T05:00:45+05:00;`, "2001:db8::1 2016-02-20T00:00:45Z request"},
		{"csv, tabs, milliseconds", "csv:time=t,addr=a,sep=tab", "a\tt", "192.0.2.1\t1455944445123", "192.0.2.1 2016-02-20T05:00:45.123Z request"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var ev edgeguard.Event
			why := scan.ParseLine(parserOf(t, test.format, test.head), []byte(test.line), &ev)
			if want := map[bool]scan.Reason{false: scan.Read, true: scan.CutShort}[strings.Contains(test.name, "cut")]; why != want {
				t.Fatalf("read with %q, want %q", why, want)
			}
			if got := shown(&ev); got != test.want {
				t.Errorf("\n got %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestSkippedLines(t *testing.T) {
	for _, test := range []struct {
		name, format, head, line string
		want                     scan.Reason
	}{
		{"host name", "combined", "", `crawl.example.org - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12`, scan.HostName},
		{"unix socket", "combined", "", `unix: - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12`, scan.UnixSocket},
		{"octal", "combined", "", `010.1.1.1 - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12`, scan.BadAddr},
		{"short", "combined", "", `127.1 - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12`, scan.BadAddr},
		{"address number in a text log", "combined", "", `1032051418 - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12`, scan.BadAddr},
		{"day of no month", "combined", "", `192.0.2.1 - - [30/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12`, scan.BadTime},
		{"year 2106", "combined", "", `192.0.2.1 - - [30/Mar/2106:00:00:45 +0000] "GET / HTTP/1.0" 404 12`, "the time is before 1970 or after 2105"},
		{"year 1969", "combined", "", `192.0.2.1 - - [30/Mar/1969:00:00:45 +0000] "GET / HTTP/1.0" 404 12`, "the time is before 1970 or after 2105"},
		{"error log", "combined", "", `[Tue Jul 22 06:48:30 2008] [error] [client 198.51.100.86] File does not exist`, scan.NotTheFormat},
		{"bad time, good one in the referer", "combined", "", `192.0.2.1 - - [bad] "x" 200 5 " [20/Feb/2016:00:00:45 -0500] " " 404 x"`, scan.BadTime},
		{"more readings than are looked at", `$http_x $remote_addr $http_y $msec $http_z`, "", strings.Repeat(" 9.9.9.9", 500) + " 1455944445 x", "can be read in two ways: put quotes around the fields that clients write"},
		{"too much after nginx's own", `$remote_addr [$time_local] "$request"`, "", `192.0.2.1 [20/Feb/2016:00:00:45 +0000] "GET /" 9.9.9.9`, scan.NotTheFormat},
		{"json, no address", "json", "", `{"ts":1455944445,"x_forwarded_for":"9.9.9.9","headers":{"ip":"9.9.9.9"}}`, scan.NoAddr},
		{"json, no time", "json", "", `{"remote_addr":"192.0.2.1"}`, "no time under a known name"},
		{"json, address twice", "json", "", `{"ts":1455944445,"remote_addr":"192.0.2.1","remote_addr":"9.9.9.9"}`, "names its address twice"},
		{"json, list of addresses", "json", "", `{"ts":1455944445,"remote_addr":"192.0.2.1, 9.9.9.9"}`, scan.BadAddr},
		{"json, cut off", "json", "", `{"ts":1455944445,"remote_addr":"192.0.2.1","ua":"x`, "not a JSON object"},
		{"json, more after it", "json", "", `{"ts":1455944445,"remote_addr":"192.0.2.1"} {"remote_addr":"9.9.9.9"}`, "not a JSON object"},
		{"json in another log's request", "json", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET /{"ts":1455944445,"remote_addr":"9.9.9.9"}`, "not a JSON object"},
		{"haproxy, tcp log", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main app/app1 1/0/1 5168 -- 3/3/0/0/0 0/0`, scan.NotTheFormat},
		{"csv, few columns", "csv:time=t,addr=a", "t,a,x", `1455944445,192.0.2.1`, "fewer columns than the header"},
		{"csv, number too large", "csv:time=t,addr=a", "t,a", `1455944445,4294967296`, scan.BadAddr},
		{"csv, number with a zero", "csv:time=t,addr=a", "t,a", `1455944445,0102051418`, scan.BadAddr},
		{"csv, quote in the middle", "csv:time=t,addr=a", "t,a", `1455944445,"192.0.2.1"x`, "a quoted field is followed by more than a delimiter"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var ev edgeguard.Event
			if why := parserOf(t, test.format, test.head).Parse([]byte(test.line), &ev); why != test.want {
				t.Errorf("%q, want %q (%v)", why, test.want, ev.Addr)
			}
		})
	}
}

func TestParseFormatErrors(t *testing.T) {
	for _, test := range []struct{ format, want string }{
		{"combinde", "unknown log format"},
		{`$http_x_forwarded_for [$time_local] "$request"`, "add $remote_addr"},
		{`%{X-Forwarded-For}i %t "%r"`, "add $remote_addr"},
		{`$remote_addr "$request"`, "has no time"},
		{`$remote_addr$time_local`, "nothing separates $remote_addr from $time_local"},
		{`$remote_addr $`, "a $ without a name"},
		{`${remote_addr [$time_local]`, "has no }"},
		{"log_format main escape=none '$remote_addr [$time_local]';", "escape=none"},
		{"log_format main '$remote_addr [$time_local]", "not closed"},
		{"log_format main;", "needs a name and a string"},
		{`%h %{%Q}t`, "%Q in a time format"},
		{`%ci:%cp [%tr] %[capture.req.hdr(0)] %ST`, "%ST stands behind %[capture.req.hdr(0)], into which a client can write anything"},
		{`%CC %ci:%cp [%tr] %ST`, "%ci stands behind %CC"},
		{`%{+Q}o %ci:%cp [%tr] %r`, "%o sets flags for all"},
		{`%{+E}[req.hdr(x)] %ci`, "the flag +E changes"},
		{`%ci:%cp "%r"`, "no client address or no time"},
		{`%ci [%tr] %`, "begins with no variable"},
		{`%ci [%tr] %[src`, "has no ]"},
		{`%ci [%tr] %{+Qr`, "has no }"},
		{`log-format "%ci [%tr] %ST`, "not closed"},
		{`%h %{%Y`, "has no }"},
		{`%h %t %`, "a % without a letter"},
		{"csv", "name the columns"},
		{"csv:time=a", "time= and addr= are required"},
		{"csv:time=a,addr=b,user=c", `unknown field "user"`},
		{"csv:time=a,addr=b,addr=c", "given twice"},
		{"csv:time=a,addr", "not FIELD=COLUMN"},
		{"csvxx:time=a,addr=b", "invalid delimiter"},
	} {
		_, err := ParseFormat(test.format)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.format, err, test.want)
		}
	}
}

func TestCSVHeaderErrors(t *testing.T) {
	f, err := ParseFormat("csv:time=when,addr=src,node=src")
	if err != nil {
		t.Fatal(err)
	}
	err = f.start(time.UTC).(scan.Header).Bind([]byte("time,src"))
	if err == nil || !strings.Contains(err.Error(), `no column "when" for time; it has time, src`) || !strings.Contains(err.Error(), "cannot be both") {
		t.Errorf("error %v, want one that names every fault", err)
	}
}

func TestZone(t *testing.T) {
	zone := time.FixedZone("", 3600)
	f, _ := ParseFormat("combined")
	var ev edgeguard.Event
	why := f.start(zone).Parse([]byte(`192.0.2.1 - - [20/Feb/2016:01:00:45] "GET / HTTP/1.0" 404 12`), &ev)
	if want := time.Date(2016, 2, 20, 0, 0, 45, 0, time.UTC); why != scan.Read || !ev.Time.Equal(want) {
		t.Errorf("%s %v, want %v", why, ev.Time, want)
	}
}

func TestParseDoesNotAllocate(t *testing.T) {
	for _, format := range []string{"combined", "json", "haproxy", "csv:time=t,addr=a,path=p"} {
		line := map[string]string{
			"combined": `192.0.2.1 - a b [20/Feb/2016:00:00:45 +0000] "GET /\x22 HTTP/1.0" 404 12 "-" "x\"y"`,
			"json":     `{"ts":1455944445.5,"request":{"remote_ip":"10.0.0.1","client_ip":"192.0.2.1","method":"GET","uri":"/\u00e9"},"status":401}`,
			"haproxy":  `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main app/app1 1939/0/1/0/1940 403 5168 - - ---- 3/3/0/0/0 0/0 "GET / HTTP/1.1"`,
		}[format]
		if line == "" {
			line = `2016-02-20 00:00:45,1032051418,"/a""b"`
		}
		p, buf := parserOf(t, format, "t,a,p"), make([]byte, len(line))
		var ev edgeguard.Event
		why := scan.Read
		allocs := testing.AllocsPerRun(100, func() {
			copy(buf, line)
			why = p.Parse(buf, &ev)
		})
		if allocs != 0 || why != scan.Read {
			t.Errorf("%s: %v allocations a line (%s)", format, allocs, why)
		}
	}
}
