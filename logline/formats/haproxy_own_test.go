package formats

import (
	"testing"
	"time"

	"edgeguard"
	"edgeguard/logline/scan"
)

// TestOwnMessages: what HAProxy logs about itself is neither counted nor uncounted, and
// a line that a client can write into is never taken for that.
func TestOwnMessages(t *testing.T) {
	const head = "2026-11-21T09:54:00.123456+01:00 web1 haproxy[760]: "
	const request = `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main app/app1 1939/0/1/0/1940 403 5168 - - ---- 3/3/0/0/0 0/0 `
	for _, test := range []struct {
		line string
		want scan.Reason
	}{
		{head + "[NOTICE]   (760) : haproxy version is 2.6.12-1+deb12u1", scan.Aside},
		{head + "[WARNING]  (760) : Exiting Master process...", scan.Aside},
		{head + "[ALERT]    (760) : [/usr/sbin/haproxy.main()] Cannot bind", scan.Aside},
		{head + "[WARNING] 325/094152 (760) : Exiting Master process...", scan.Aside},
		{"Nov 21 09:54:00 web1 haproxy[760]: Proxy main started.", scan.Aside},
		{"<133>Nov 21 09:54:00 haproxy[760]: Proxy main stopped (cumulated conns: FE: 1, BE: 0).", scan.Aside},
		{head + "Proxy main reached process FD limit (maxsock=30). Please check 'ulimit-n' and restart.", scan.Aside},
		{head + "Server app/app1 is DOWN, reason: Layer4 connection problem, info: \"Connection refused\"", scan.Aside},
		{head + "Backup Server app/app2 is UP, reason: Layer4 check passed", scan.Aside},
		{head + "backend app has no server available!", scan.Aside},

		{"[NOTICE]   (760) : without a header", scan.BadAddr},
		{head + "[NOTICE] by another program", scan.BadAddr},
		{head + "[NOTICE] (x) : no process", scan.BadAddr},
		{head + "Proxy-Authorization: x started.", scan.BadAddr},
		{head + "Proxy main is mine", scan.BadAddr},
		{head + "Server app is mine", scan.BadAddr},
		{head + "backend app has no server available! 192.0.2.1", scan.BadAddr},
		{head + "Connect from 192.0.2.1:4711 to 198.51.100.1:80 (main/HTTP)", scan.BadAddr},
		{head + request + `{[NOTICE]   (760) : a|Proxy main started.} "GET /[NOTICE] HTTP/1.1"`, scan.Read},
		{head + request + `{|} "[NOTICE]   (760) : x HTTP/1.1"`, scan.Read},
		{head + `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main/1: SSL handshake failure`, scan.NotTheFormat},
		{head + "x/[NOTICE]   (760) : a", scan.BadAddr},
	} {
		p := NewHAProxy(time.UTC)
		var ev edgeguard.Event
		why := p.Parse([]byte(test.line), &ev)
		if why != test.want {
			t.Errorf("%s:\ngot  %q\nwant %q", test.line, why, test.want)
		}
		if why == scan.Aside && p.Sure().IsValid() {
			t.Errorf("%s: it names %v", test.line, p.Sure())
		}
	}
}
