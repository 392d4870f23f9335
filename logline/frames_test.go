package logline

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"edgeguard/logline/loglinetest"
)

// frames are what other programs write around a line. LINE is the line; in those with a format,
// as a text in JSON.
var frames = []struct{ name, format, text string }{
	{"none", "", "LINE"},
	{"RFC 3164", "", "Nov 27 22:20:10 web-1 nginx[688]: LINE"},
	{"RFC 3164, a priority", "", "<190>Nov  7 22:20:10 nginx: LINE"},
	{"ISO", "", "2026-11-27T22:20:10.123456+02:00 web-1 nginx: LINE"},
	{"RFC 5424", "", "<190>1 2026-11-27T22:20:10Z web-1 nginx 17 - - LINE"},
	{"RFC 5424, data", "", `<190>1 2026-11-27T22:20:10Z web-1 nginx 17 m1 [a@1 b="\"\] \\" c="x y"][d@1] LINE`},
	{"Kubernetes", "", "2026-11-26T10:41:20.19327046+01:00 stdout F LINE"},
	{"compose", "", "web-1  | LINE"},
	{"kubectl", "", "[pod/web-6f/nginx] LINE"},
	{"docker logs -t", "", "2026-11-26T10:41:20.193270460Z LINE"},
	{"compose logs -t, then RFC 3164", "", "web-1  | 2026-11-26T10:41:20.193270460+01:00 <190>Nov 27 22:20:10 web-1 nginx: LINE"},
	{"journalctl, short-full", "", "Fri 2026-11-27 22:20:10 CET web-1 nginx[17]: LINE"},
	{"journalctl, short-precise", "", "Nov 27 22:20:10.123456 web-1 nginx[17]: LINE"},
	{"journalctl, short-unix", "", "1795817000.123456 web-1 nginx[17]: LINE"},
	{"FreeBSD", "", "Nov 27 22:20:10 <local7.info> web-1 nginx[17]: LINE"},
	{"BusyBox", "", "Nov 27 22:20:10 web-1 local7.info nginx[17]: LINE"},
	{"compose, then RFC 3164", "", "web-1  | <190>Nov 27 22:20:10 web-1 nginx: LINE"},
	{"Kubernetes, then RFC 5424", "", "2026-11-26T10:41:20Z stderr F <190>1 2026-11-27T22:20:10Z web-1 nginx 17 - - LINE"},
	{"docker", "docker:", `{"log":"LINE\n","stream":"stdout","time":"2026-11-27T22:20:10Z"}`},
	{"journald", "journald:", `{"__REALTIME_TIMESTAMP":"1795817000000000","MESSAGE":"LINE","SYSLOG_IDENTIFIER":"nginx"}`},
	{"vector", "vector:", `{"host":"h","message":"LINE","timestamp":"2026-11-27T22:20:10Z"}`},
	{"Filebeat", "vector:", `{"@timestamp":"2026-11-27T22:20:10Z","log":{"offset":7,"file":{"path":"/a"}},"message":"LINE"}`},
	{"fluentbit", "fluentbit:", `{"date":1795817000.5,"log":"LINE"}`},
	{"docker, then RFC 3164", "docker:", `{"log":"Nov 27 22:20:10 web-1 nginx: LINE\n","stream":"stdout","time":"2026-11-27T22:20:10Z"}`},
	{"compose, then docker", "docker:", `web-1  | {"log":"LINE\n","stream":"stdout","time":"2026-11-27T22:20:10Z"}`},
}

// framed are logs that begin with each kind of thing, beside those with a name.
var framed = []loglinetest.Example{
	{Format: `[$time_local] $upstream_cache_status $status - $request_method $host "$request_uri" [Client $remote_addr]`,
		Line: `[20/Feb/2016:00:00:45 +0000] - 404 - GET a.example.org "/\x22" [Client 192.0.2.1]`, Want: atHome + rr + `method=GET host=a.example.org path=/" 404`},
	{Format: `"$time_iso8601" "$remote_addr" "$request" $status`, Line: `"2016-02-20T00:00:45+00:00" "192.0.2.1" "GET / HTTP/1.1" 404`, Want: atHome + rr + "method=GET path=/ 404"},
	{Format: `$time_iso8601 $remote_addr "$request" $status`, Line: `2016-02-20T00:00:45+00:00 192.0.2.1 "GET / HTTP/1.1" 404`, Want: atHome + rr + "method=GET path=/ 404"},
	{Format: `$msec|$remote_addr|$status`, Line: `1455926445.000|192.0.2.1|404`, Want: atHome + rr + "404"},
	{Format: `$host $remote_addr - $remote_user [$time_local] "$request" $status`, Line: `a 192.0.2.1 - x 9.9.9.9 - b [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.1" 404`, Want: atHome + rr + "method=GET host=a path=/ 404"},
	{Format: `$server_name $remote_addr [$time_local] $status`, Line: `a 192.0.2.1 [20/Feb/2016:00:00:45 +0000] 404`, Want: atHome + rr + "host=a 404"},
	{Format: `json:addr=c.ip,time=t,status=s`, Line: `{"c":{"ip":"192.0.2.1"},"t":"Sat, 20 Feb 2016 00:00:45 GMT","s":404}`, Want: atHome + rr + "404"},
	{Format: `regex:^(?P<addr>[^ ]+) (?P<time>\d+) (?P<status>\d+)$`, Line: `192.0.2.1 1455926445 404`, Want: atHome + rr + "404"},
	{Format: `immich`, Line: `[Nest] 17  - 20.02.2016, 00:00:45    WARN [Api:AuthService~8hf] Failed login attempt for user a@example.org from ip address 192.0.2.1`, Want: atHome + " auth_failure unverified"},
	{Format: `nginx-error`, Line: `2016/02/20 00:00:45 [error] 17#0: *7 access forbidden by rule, client: 192.0.2.1, server: _, request: "GET / HTTP/1.1"`, Want: atHome + " rejection unverified"},
}

// TestFrames holds that each format reads in each envelope what it reads without one, with a
// byte order mark and without, and that a line of which the envelope is all there is says
// nothing.
func TestFrames(t *testing.T) {
	for _, e := range append(loglinetest.Examples, framed...) {
		for _, frame := range frames {
			for _, mark := range []string{"", "\uFEFF"} {
				said := mark + e.Line
				if frame.format != "" {
					b, _ := json.Marshal(said) // escapes quotes and <
					said = string(b[1 : len(b)-1])
				}
				f, err := ParseFormat(frame.format + e.Format)
				if err != nil {
					t.Fatal(err)
				}
				p := f.Parser("log", nil)
				p.SetLatest(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
				head := e.Head
				if frame.format != "" && head != "" {
					lines := ""
					for line := range strings.Lines(head) {
						b, _ := json.Marshal(strings.TrimSuffix(line, "\n"))
						lines += strings.Replace(frame.text, "LINE", string(b[1:len(b)-1]), 1) + "\n"
					}
					head = lines
				}
				empty := strings.Replace(frame.text, "LINE", "", 1)
				c := &Chunk{Text: []byte(head + strings.Join([]string{empty, strings.Replace(frame.text, "LINE", said, 1), empty, strings.TrimRight(empty, " "), ""}, "\n"))}
				p.Parse(c)
				if f.IsService() && len(c.Events) == 1 { // a header's time counts
					c.Events[0].Time = time.Date(2016, 2, 20, 0, 0, 45, 0, time.UTC)
				}
				if len(c.Events) != 1 || c.Skipped != 0 || shown(&c.Events[0]) != e.Want {
					t.Errorf("%s in %s, mark %q: %d events, %v; want %s", e.Format, frame.name, mark, len(c.Events), c.Shown, e.Want)
					for i := range c.Events {
						t.Log(shown(&c.Events[i]))
					}
				}
			}
		}
	}
}

// TestFramesOfClients holds that nothing is taken off a line that begins with what a client
// writes.
func TestFramesOfClients(t *testing.T) {
	const format = `$http_x $remote_addr [$time_local] "$request" $status`
	for _, line := range []string{
		`Nov 27 22:20:10 web-1 nginx: 9.9.9.9 [20/Feb/2016:00:00:45 +0000] 192.0.2.1 [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.1" 404`,
		`web-1  | 192.0.2.1 [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.1" 404`,
	} {
		p := formatOf(t, format).Parser("log", nil)
		c := &Chunk{Text: []byte(line)}
		p.Parse(c)
		if len(c.Events) != 1 || c.Events[0].Addr.String() != "192.0.2.1" {
			t.Errorf("%s: %d events, %v", line, len(c.Events), c.Shown)
		}
	}
}

// TestFramesOfClientsBehindTheAddress holds that nothing is taken off a line that was read up to
// its address: what a client writes behind it may look like a frame with another line.
func TestFramesOfClientsBehindTheAddress(t *testing.T) {
	const format = `$msec $remote_addr $remote_user "$request" $status`
	for _, line := range []string{
		`1455926445.123456 192.0.2.1 "x: 1455926445.123 9.9.9.9 y "GET / HTTP/1.1" 404`,
		`1455926445.123456 192.0.2.1 " b: 1455926445.123 9.9.9.9 y "GET / HTTP/1.1" 404`,
	} {
		p := formatOf(t, format).Parser("log", nil)
		c := &Chunk{Text: []byte(line)}
		p.Parse(c)
		if len(c.Events) != 0 || c.Skipped != 1 {
			t.Errorf("%s: counted for %v", line, c.Events)
		}
	}
}
