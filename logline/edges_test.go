package logline

import (
	"slices"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/logline/loglinetest"
	"edgeguard/logline/scan"
)

// What else the makers' own pages have, beside the examples.
const (
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html,
	// example log entries.
	albHTTP = `http 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0" - - arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337262-36d228ad5d99923122bbe354" "-" "-" 0 2018-07-02T22:22:48.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`
	albH2   = `h2 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 10.0.1.252:48160 10.0.0.66:9000 0.000 0.002 0.000 200 200 5 257 "GET https://10.0.2.105:773/ HTTP/2.0" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337327-72bd00b0343d75b906739c42" "-" "-" 1 2018-07-02T22:22:48.364000Z "redirect" "https://example.com:80/" "-" "10.0.0.66:9000" "200" "-" "-"`

	// https://wiki.squid-cache.org/SquidFaq/SquidLogs and
	// http://www.squid-cache.org/Doc/config/logformat/.
	squidDeny = `1386543323.000      4 192.0.2.7 TCP_DENIED/403 4099 GET http://www.example.org/azenv.php - HIER_NONE/- text/html`

	// https://learn.microsoft.com/en-us/windows/win32/http/w3c-logging, and the
	// default columns of IIS 8.5 as a row has them.
	iisFields = `#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken`
	iisRow    = `2016-02-20 00:00:45 10.0.0.4 GET /a/b.aspx id=1&x=%20 443 - 192.0.2.1 Mozilla/5.0+(Windows+NT+10.0) - 404 0 2 46`
)

// The lines of examples, to change parts of them.
var (
	wafLine       = loglinetest.Of("waf").Line
	logpushLine   = loglinetest.Of("logpush").Line
	cloudFrontRow = loglinetest.Of("w3c").Line
)

const (
	envoyHead = `[2016-04-15T20:17:00.310Z] "GET / HTTP/1.1" 403 RBAC 0 19 0 - `
	envoyWant = "192.0.2.1 2016-04-15T20:17:00.31Z" + rr + "method=GET host=h path=/ "
	albHead   = `http 2018-07-02T22:23:00.186641Z app/lb/50 192.0.2.1:2817 10.0.0.1:80 0.000 0.001 0.000 `
	albWant   = "192.0.2.1 2018-07-02T22:23:00.186641Z"
	squidHead = `1286536309.450    180 192.0.2.1 `
	squidWant = "192.0.2.1 2010-10-08T11:11:49.45Z"
)

// TestEdges holds what the formats of load balancers, of delivery networks and of
// proxies say: each line as the maker's page has it.
func TestEdges(t *testing.T) {
	for _, test := range []struct{ name, format, line, want string }{
		{"alb", "alb", albHTTP, "192.168.131.39 2018-07-02T22:23:00.186641Z" + rr + "method=GET host=www.example.com:80 path=/ agent=curl/7.46.0 200"},
		{"alb, h2", "alb", albH2, "10.0.1.252 2018-07-02T22:23:00.186641Z" + rr + "method=GET host=10.0.2.105:773 path=/ agent=curl/7.46.0 200"},
		{"alb, no target, v6", "alb", `ws 2018-07-02T22:23:00.186641Z app/lb/50 [2001:db8::1]:2817 - -1 -1 -1 400 - 0 57 "- http://h:80- -" "-" - - - "-" "-" "-" 0`, "2001:db8::1 2018-07-02T22:23:00.186641Z" + rr + "agent= 400"},
		{"alb, no status", "alb", albHead + `- - 0 0 "GET http://h:80/a?b=c HTTP/1.1" "x"`, albWant + " request method=GET host=h:80 path=/a?b=c agent=x"},
		{"alb, a quote in the target", "alb", albHead + `200 200 34 366 "GET http://h:80/a"b/../wp-login.php?" HTTP/1.1" "x" - -`, albWant + rr + `method=GET host=h:80 path=/a"b/../wp-login.php?" agent=x 200`},
		{"alb, no path", "alb", albHead + `200 200 34 366 "GET http://h:80?q HTTP/1.1" "x" - -`, albWant + rr + `method=GET host=h:80 path=http://h:80?q agent=x 200`},
		{"squid, denied", "squid", squidDeny, "192.0.2.7 2013-12-08T22:55:23Z" + rr + "method=GET host=www.example.org path=/azenv.php 403"},
		{"squid, tunnel", "squid", squidHead + `TCP_TUNNEL/200 5210 CONNECT example.org:443 bob HIER_DIRECT/198.51.100.2 -`, squidWant + rr + "method=CONNECT host=example.org:443 path=example.org:443 200"},
		{"squid, no request", "squid", squidHead + `NONE/400 3364 GET error:invalid-request - HIER_NONE/- text/html`, squidWant + rr + "method=GET 400"},
		{"squid, no status", "squid", squidHead + `TCP_MISS_ABORTED/000 0 POST http://[2001:db8::2]:80/a?b - HIER_DIRECT/2001:db8::2 -`, squidWant + " request method=POST host=[2001:db8::2]:80 path=/a?b"},
		{"squid, v6, by syslog", "squid", `Nov 14 22:45:27 proxy squid[760]: 1286536309.450     -1 2001:db8::1 TCP_HIT/304 0 GET /a - HIER_NONE/- -`, "2001:db8::1 2010-10-08T11:11:49.45Z" + rr + "method=GET path=/a 304"},
		{"envoy, addresses that a client sent", "envoy", envoyHead + `"9.9.9.9, 8.8.8.8,192.0.2.1" "-" "id" "h" "-"`, envoyWant + "agent= 403"},
		{"envoy, no answer, v6", "envoy", `[2016-04-15T20:17:00Z] "GET /a"b HTTP/1.1" 0 DC 0 0 5 - "2001:db8::1" "x" "-" "h" "[2001:db8::2]:80"`, `2001:db8::1 2016-04-15T20:17:00Z request method=GET host=h path=/a"b agent=x`},
		{"envoy, quotes in the agent", "envoy", envoyHead + `"192.0.2.1" "x" "y" 9.9.9.9" "" "id" "h" "-"`, envoyWant + `agent=x" "y" 9.9.9.9" " 403`},
		{"envoy, quotes in the list", "envoy", envoyHead + `"a" "b,192.0.2.1" "x" "id" "h" "-"`, envoyWant + `agent=x 403`},
		{"waf, a query, its own answer", "json", strings.NewReplacer(`"args":""`, `"args":"a=\u0026\"b"`, `"responseCodeSent":null`, `"responseCodeSent":429`, `"Host"`, `"host"`, `"dogname","value"`, `"user-agent","value"`).Replace(wafLine),
			"52.46.82.45 2023-05-06T06:46:19.981Z" + rr + `method=GET host=rjvegx5guh.execute-api.eu-west-3.amazonaws.com path=/CanaryTest?a=&"b agent=ella 429`},
		{"waf, blanks, a query apart from its path", "json", `{"timestamp": 1683355579981, "httpRequest": {"uri": "/a", "httpMethod": "GET", "args": "b", "headers": [ {"value": "h", "name": "Host"} , {"name": "x"} ], "clientIp": "2001:db8::1"}}`,
			"2001:db8::1 2023-05-06T06:46:19.981Z request method=GET host=h path=/a?b"},
		{"logpush, seconds", "json", strings.Replace(logpushLine, "1545155129696000000", "1545155129", 1), "192.0.2.1 2018-12-18T17:45:29Z" + rr + "method=GET host=testing.example.org path=/var/www?x=1 agent=curl/8 403"},
		{"logpush, RFC 3339", "json", strings.Replace(logpushLine, "1545155129696000000", `"2018-12-18T17:45:29.696Z"`, 1), "192.0.2.1 2018-12-18T17:45:29.696Z" + rr + "method=GET host=testing.example.org path=/var/www?x=1 agent=curl/8 403"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var ev edgeguard.Event
			if why := scan.ParseLine(parserOf(t, test.format, ""), []byte(test.line), &ev); why != scan.Read {
				t.Fatal(why)
			}
			if got := shown(&ev); got != test.want {
				t.Errorf("\n got %s\nwant %s", got, test.want)
			}
			f, err := Detect([]byte(strings.Repeat(test.line+"\n", 3)), nil)
			if err != nil || f.String() != test.format {
				t.Errorf("detected as %v, %v", f, err)
			}
		})
	}
}

// TestW3C holds what the rows of a W3C log say by the last #Fields line.
func TestW3C(t *testing.T) {
	for _, test := range []struct {
		name, format string
		lines        []string
		want         []string // events, and the reasons of skipped lines
	}{
		{"cloudfront, a query and escapes", "w3c", []string{loglinetest.CloudFrontFields,
			strings.NewReplacer("/index.html", "/a%2520b%09c", "\t-\t-\tHit", "\tq=%25&r\t-\tHit", "192.0.2.100", "2001:0db8:85a3::8a2e:0370:7334", "==\td111111abcdef8.cloudfront.net", "==\twww.example.org").Replace(cloudFrontRow)},
			[]string{"2001:db8:85a3::8a2e:370:7334 2019-12-04T21:02:31Z" + rr + "method=GET host=www.example.org path=/a%20b\tc?q=%&r agent=Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/78.0.3904.108 Safari/537.36 200"}},
		{"iis", "w3c", []string{"#Software: Microsoft Internet Information Services 10.0", "#Version: 1.0", "#Date: 2016-02-20 00:00:00", iisFields, iisRow},
			[]string{"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/a/b.aspx?id=1&x=%20 agent=Mozilla/5.0 (Windows NT 10.0) 404 port=443"}},
		{"iis, other columns in the middle of a file", "w3c", []string{iisFields, iisRow, "#Fields: time date c-ip s-computername cs-host cs-uri-query x cs-uri-stem", "00:00:46 2016-02-20 fe80::1%4 WEB1 h - x /a"},
			[]string{"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/a/b.aspx?id=1&x=%20 agent=Mozilla/5.0 (Windows NT 10.0) 404 port=443", "fe80::1 2016-02-20T00:00:46Z request host=h path=/a node=WEB1"}},
		{"columns of the config", "w3c:date time c-ip cs-uri-stem", []string{"2016-02-20 00:00:45.25 192.0.2.1 /a", "#Fields: c-ip timestamp cs-uri", "192.0.2.2 1455944445.5 /b?c", "#Fields: timestamp(ms),c-ip", "1455944445123 192.0.2.3"},
			[]string{"192.0.2.1 2016-02-20T00:00:45.25Z request path=/a", "192.0.2.2 2016-02-20T05:00:45.5Z request path=/b?c", "192.0.2.3 2016-02-20T05:00:45.123Z request"}},
		{"config with the whole line", "w3c:" + iisFields, []string{iisRow}, []string{"192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/a/b.aspx?id=1&x=%20 agent=Mozilla/5.0 (Windows NT 10.0) 404 port=443"}},
		{"rotated, without a beginning", "w3c", []string{iisRow, iisFields, iisRow},
			[]string{"no #Fields line before it: read the file from its beginning, or name the columns: w3c:date time c-ip …", "192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET path=/a/b.aspx?id=1&x=%20 agent=Mozilla/5.0 (Windows NT 10.0) 404 port=443"}},
		{"no address", "w3c", []string{"#Fields: date time cs-method x-forwarded-for", "2016-02-20 00:00:45 GET 9.9.9.9"}, []string{"the #Fields line before it names no c-ip, the client's address: have the server log it"}},
		{"no time", "w3c", []string{"#Fields: time c-ip", "00:00:45 192.0.2.1"}, []string{"the #Fields line before it names no date and time: have the server log them"}},
		{"a client's column first", "w3c", []string{"#Fields: cs-uri-stem date time c-ip", "/ 2016-02-20 00:00:45 192.0.2.1"}, []string{"the #Fields line before it begins with a column that clients write: have the server log date first"}},
		{"a column twice", "w3c", []string{"#Fields: date time c-ip c-ip", "2016-02-20 00:00:45 192.0.2.1 9.9.9.9"}, []string{"the #Fields line before it names a column twice"}},
		{"bad rows", "w3c", []string{"#Fields: date time c-ip", "2016-02-20 00:00:45 192.0.2.1 x", "2016-02-20 00:00:45", "2016-02-20 00:00:45 h", "2016-02-20 24:00:45 192.0.2.1"},
			[]string{"more or fewer columns than the #Fields line before it names", "more or fewer columns than the #Fields line before it names", string(scan.BadAddr), string(scan.BadTime)}},
		{"a long row", "w3c", []string{"#Fields: date time cs-uri-stem c-ip", "2016-02-20 00:00:45 /" + strings.Repeat("a", MaxLine) + " 192.0.2.1"}, []string{"192.0.2.1 2016-02-20T00:00:45Z request path=/" + strings.Repeat("a", MaxLine)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := Parser{parser: parserOf(t, test.format, "")}
			var got []string
			for _, line := range test.lines { // each by itself, to keep the order
				c := &Chunk{Text: []byte(line + "\n")}
				l.Parse(c)
				for i := range c.Events {
					got = append(got, shown(&c.Events[i]))
				}
				for _, s := range c.Shown {
					got = append(got, s.Reason)
				}
				if len(c.Events) == 0 && (c.Skipped > 0) != (line[0] != '#') {
					t.Errorf("%d skipped of %q", c.Skipped, line)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("\n got %.400q\nwant %.400q", got, test.want)
			}
		})
	}
	for format, want := range map[string]string{
		"w3c:":               "name the columns as the log's #Fields line does",
		"w3c:date time":      "it names no c-ip",
		"w3c:c-ip date":      "it names no date and time",
		"w3c:cs-method c-ip": "it begins with a column that clients write",
	} {
		if _, err := ParseFormat(format); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", format, err, want)
		}
	}
	for _, log := range []string{"#Version: 1.0\n" + loglinetest.CloudFrontFields + "\n" + cloudFrontRow + "\n", "#Software: x\n" + iisFields + "\n" + iisRow + "\n", "#Version: 1.0\n" + loglinetest.CloudFrontFields + "\n"} {
		if f, err := Detect([]byte(log), nil); err != nil || f.String() != "w3c" {
			t.Errorf("detected as %v, %v", f, err)
		}
	}
}

// TestEdgesSkipped holds why a line of these formats is skipped.
func TestEdgesSkipped(t *testing.T) {
	for _, test := range []struct{ name, format, line, want, sure string }{
		{"alb, connection log", "alb", `2018-07-02T22:23:00.186641Z 192.0.2.1 36280 443 TLSv1.2`, "the first field is not http, https, h2, grpcs, ws or wss, nor a time", "invalid IP"},
		{"alb, no time", "alb", `http yesterday app/lb/50 192.0.2.1:2817`, string(scan.BadTime), "invalid IP"},
		{"alb, no address", "alb", `http 2018-07-02T22:23:00.186641Z app/lb/50 - 10.0.0.1:80`, string(scan.BadAddr), "invalid IP"},
		{"alb, no request", "alb", albHead + `200 200`, "fewer fields than an entry of a load balancer", "192.0.2.1"},
		{"alb, cut in the target", "alb", albHead + `200 200 34 366 "GET http://h:80/a`, string(scan.CutShort), "192.0.2.1"},
		{"envoy, no time", "envoy", `[x] "GET`, string(scan.BadTime), "invalid IP"},
		{"envoy, no request", "envoy", `[2016-04-15T20:17:00Z] "GET /" 200 - 1 1 1 - "192.0.2.1" "x" "-" "h" "-"`, "no request in quotes behind the time", "invalid IP"},
		{"envoy, a second blank", "envoy", `[2016-04-15T20:17:00Z] "GET /  HTTP/1.1" 200`, "no request in quotes behind the time", "invalid IP"},
		{"envoy, Istio's format", "envoy", `[2016-04-15T20:17:00Z] "GET / HTTP/1.1" 200 - via_upstream - "-" 0 1 2 1 "192.0.2.1" "x" "id" "h" "10.0.0.1:80" c 10.0.0.2:1 10.0.0.3:80 192.0.2.1:0 - default`, "no status, flags and figures behind the request", "invalid IP"},
		{"envoy, more behind it", "envoy", envoyHead + `"192.0.2.1" "x" "id" "h" "-" x`, "fewer than five quoted fields behind the figures", "invalid IP"},
		{"envoy, fewer", "envoy", envoyHead + `"192.0.2.1" "x" "id"`, "fewer than five quoted fields behind the figures", "invalid IP"},
		{"envoy, not an edge", "envoy", envoyHead + `"-" "x" "id" "h" "-"`, "X-Forwarded-For does not end in an address: Envoy appends the client's with use_remote_address: true", "invalid IP"},
		{"envoy, an agent that ends the list", "envoy", envoyHead + `"192.0.2.1" "x,9.9.9.9" "y" "id" "h" "-"`, "X-Forwarded-For and the agent can be parted in two ways: log %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% in a json_format", "invalid IP"},
		{"envoy, a list with an end in it", "envoy", envoyHead + `"9.9.9.9" "x,192.0.2.1" "y" "id" "h" "-"`, "X-Forwarded-For and the agent can be parted in two ways: log %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% in a json_format", "invalid IP"},
		{"waf, no address", "json", `{"timestamp":1683355579981,"httpRequest":{"headers":[{"name":"X-Forwarded-For","value":"9.9.9.9"},{"name":"clientIp","value":"9.9.9.9"}],"uri":"/"}}`, string(scan.NoAddr), "invalid IP"},
		{"waf, an address twice", "json", `{"timestamp":1683355579981,"httpRequest":{"clientIp":"9.9.9.9","clientIp":"192.0.2.1"}}`, "names its address twice", "invalid IP"},
		{"logpush, no address", "json", `{"EdgeStartTimestamp":1545155129,"ClientXRequestedWith":"9.9.9.9","OriginIP":"9.9.9.9"}`, string(scan.NoAddr), "invalid IP"},
		{"squid, no time", "squid", `x 180 192.0.2.1 TCP_MISS/200 411 GET http://h/ - NONE/- -`, string(scan.BadTime), "invalid IP"},
		{"squid, no duration", "squid", `1286536309.450 192.0.2.1 TCP_MISS/200 411 GET http://h/ - NONE/- -`, "no duration behind the time", "invalid IP"},
		{"squid, a name", "squid", `1286536309.450 180 crawl.example.org TCP_MISS/200 411 GET http://h/ - NONE/- -`, string(scan.HostName), "invalid IP"},
		{"squid, no address", "squid", `1286536309.450 180 - TCP_DENIED/403 411 GET http://h/ - NONE/- -`, string(scan.BadAddr), "invalid IP"},
		{"squid, no result", "squid", squidHead + `TCP_MISS 411 GET http://h/ - NONE/- -`, "no result such as TCP_MISS/200 behind the address", "192.0.2.1"},
		{"squid, by UDP", "squid", squidHead + `UDP_MISS/000 66 ICP_QUERY http://h/ - NONE/- -`, "a question of another cache over UDP: its sender can be forged", "invalid IP"},
		{"squid, no request", "squid", squidHead + `TCP_MISS/200 411 GET`, "no method and URL behind the size", "192.0.2.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var ev edgeguard.Event
			p := parserOf(t, test.format, "")
			if why := p.Parse([]byte(test.line), &ev); string(why) != test.want {
				t.Errorf("skipped as %q, want %q", why, test.want)
			}
			if got := p.Sure().String(); got != test.sure {
				t.Errorf("surely of %s, want %s", got, test.sure)
			}
		})
	}
}

// TestEdgesAllocate holds that a line of these formats costs no memory.
func TestEdgesAllocate(t *testing.T) {
	for _, test := range []struct{ format, line string }{
		{"json", strings.Replace(wafLine, `"args":""`, `"args":"a=b"`, 1)},
		{"w3c:" + loglinetest.CloudFrontFields, strings.Replace(cloudFrontRow, "\t-\t-\tHit", "\tq=%25&r\t-\tHit", 1)}, {"w3c:" + iisFields, iisRow},
	} {
		t.Run(test.format[:min(len(test.format), 32)], func(t *testing.T) {
			line, room := []byte(test.line), make([]byte, len(test.line))
			p := parserOf(t, test.format, "")
			var ev edgeguard.Event
			if n := testing.AllocsPerRun(100, func() {
				copy(room, line)
				if why := p.Parse(room, &ev); why != scan.Read {
					t.Fatal(why)
				}
			}); n > 0 {
				t.Errorf("%v allocations a line", n)
			}
		})
	}
}
