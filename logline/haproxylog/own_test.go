package haproxylog

import (
	"testing"
	"time"

	"edgeguard"
	"edgeguard/logline/entry"
)

// TestOwnMessages: what HAProxy logs about itself is neither counted nor uncounted, and
// a line that a client can write into is never taken for that.
func TestOwnMessages(t *testing.T) {
	const head = "2026-11-21T09:54:00.123456+01:00 web1 haproxy[760]: "
	const request = `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main app/app1 1939/0/1/0/1940 403 5168 - - ---- 3/3/0/0/0 0/0 `
	for _, test := range []struct {
		line string
		want entry.Reason
	}{
		{head + "[NOTICE]   (760) : haproxy version is 2.6.12-1+deb12u1", entry.Aside},
		{head + "[WARNING]  (760) : Exiting Master process...", entry.Aside},
		{head + "[ALERT]    (760) : [/usr/sbin/haproxy.main()] Cannot bind", entry.Aside},
		{head + "[WARNING] 325/094152 (760) : Exiting Master process...", entry.Aside},
		{"Nov 21 09:54:00 web1 haproxy[760]: Proxy main started.", entry.Aside},
		{"<133>Nov 21 09:54:00 haproxy[760]: Proxy main stopped (cumulated conns: FE: 1, BE: 0).", entry.Aside},
		{head + "Proxy main reached process FD limit (maxsock=30). Please check 'ulimit-n' and restart.", entry.Aside},
		{head + "Server app/app1 is DOWN, reason: Layer4 connection problem, info: \"Connection refused\"", entry.Aside},
		{head + "Backup Server app/app2 is UP, reason: Layer4 check passed", entry.Aside},
		{head + "backend app has no server available!", entry.Aside},

		{"[NOTICE]   (760) : without a header", entry.BadAddr},
		{head + "[NOTICE] by another program", entry.BadAddr},
		{head + "[NOTICE] (x) : no process", entry.BadAddr},
		{head + "Proxy-Authorization: x started.", entry.BadAddr},
		{head + "Proxy main is mine", entry.BadAddr},
		{head + "Server app is mine", entry.BadAddr},
		{head + "backend app has no server available! 192.0.2.1", entry.BadAddr},
		{head + "Connect from 192.0.2.1:4711 to 198.51.100.1:80 (main/HTTP)", entry.BadAddr},
		{head + request + `{[NOTICE]   (760) : a|Proxy main started.} "GET /[NOTICE] HTTP/1.1"`, entry.Read},
		{head + request + `{|} "[NOTICE]   (760) : x HTTP/1.1"`, entry.Read},
		{head + `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main/1: SSL handshake failure`, entry.NotTheFormat},
		{head + "x/[NOTICE]   (760) : a", entry.BadAddr},
	} {
		p := New(time.UTC)
		var ev edgeguard.Event
		why := p.Parse([]byte(test.line), &ev)
		if why != test.want {
			t.Errorf("%s:\ngot  %q\nwant %q", test.line, why, test.want)
		}
		if why == entry.Aside && p.Sure().IsValid() {
			t.Errorf("%s: it names %v", test.line, p.Sure())
		}
	}
}
