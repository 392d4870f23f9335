package httpauth

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edgeguard"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/inline"
)

// request is an event with the fields that every request has.
func request(e edgeguard.Event) edgeguard.Event {
	e.Time, e.Kind, e.Verified = tokyo, edgeguard.KindRequest, edgeguard.KindRequest
	return e
}

const described = edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldAgent | edgeguard.FieldHeader

// TestGolden sends what each proxy sends, byte by byte, and compares the event
// that is made of it.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		want      edgeguard.Event
	}{
		{"nginx", "GET /auth/nginx HTTP/1.1\r\nHost: site.example\r\nUser-Agent: curl/8\r\nX-Real-IP: 203.0.113.9\r\n" +
			"X-Original-URI: /login?a=1\r\nX-Original-Method: POST\r\nX-Forwarded-For: 1.1.1.1\r\nX-Request-Id: 0af1\r\n\r\n",
			request(edgeguard.Event{Addr: addr("203.0.113.9"), Known: described, Host: "site.example", Method: "POST", Path: "/login?a=1", Agent: "curl/8"})},
		{"nginx, HTTP/1.0", "GET /auth/nginx HTTP/1.0\r\nHost: site.example\r\nX-Real-IP: 2001:db8::9\r\nX-Original-URI: /\r\nX-Original-Method: GET\r\n\r\n",
			request(edgeguard.Event{Addr: addr("2001:db8::9"), Known: described, Host: "site.example", Method: "GET", Path: "/"})},
		{"caddy", "GET /auth/forward?y=1 HTTP/1.1\r\nHost: 127.0.0.1:9180\r\nUser-Agent: curl/8\r\nX-Forwarded-For: 203.0.113.9\r\n" +
			"X-Forwarded-Host: site.example\r\nX-Forwarded-Method: PUT\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Uri: /x?y=1\r\nX-Request-Id: 1\r\n\r\n",
			request(edgeguard.Event{Addr: addr("203.0.113.9"), Known: described, Host: "site.example", Method: "PUT", Path: "/x?y=1", Agent: "curl/8"})},
		{"a page made the browser ask", "GET /auth/forward HTTP/1.1\r\nHost: 127.0.0.1:9180\r\nX-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Host: site.example\r\n" +
			"X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /x\r\nReferer: https://forum.example/t/1\r\nSec-Fetch-Site: cross-site\r\n\r\n",
			request(edgeguard.Event{Addr: addr("203.0.113.9"), Known: described | edgeguard.FieldReferer | edgeguard.FieldFetchSite, Host: "site.example", Method: "GET", Path: "/x",
				Referer: "https://forum.example/t/1", FetchSite: "cross-site"})},
		{"traefik", "GET /auth/forward HTTP/1.1\r\nHost: 127.0.0.1:9180\r\nUser-Agent: curl/8\r\nX-Forwarded-For: 203.0.113.9\r\n" +
			"X-Forwarded-Host: site.example\r\nX-Forwarded-Method: DELETE\r\nX-Forwarded-Port: 80\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Uri: /a%20b\r\nAccept-Encoding: gzip\r\n\r\n",
			request(edgeguard.Event{Addr: addr("203.0.113.9"), Known: described, Host: "site.example", Method: "DELETE", Path: "/a%20b", Agent: "curl/8"})},
		{"traefik behind another trusted proxy", "GET /auth/forward HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 203.0.113.9, 127.0.0.3\r\nConnection: X-Forwarded-For\r\n\r\n",
			request(edgeguard.Event{Addr: addr("203.0.113.9"), Proxied: true, Known: edgeguard.FieldAgent | edgeguard.FieldHeader})},
		{"envoy", "POST /auth/envoy/api//v1?q=/auth/nginx HTTP/1.1\r\nHost: site.example\r\nContent-Length: 0\r\nx-forwarded-for: 203.0.113.9\r\nuser-agent: curl/8\r\n\r\n",
			request(edgeguard.Event{Addr: addr("203.0.113.9"), Known: described, Host: "site.example", Method: "POST", Path: "/api//v1?q=/auth/nginx", Agent: "curl/8"})},
		{"envoy, OPTIONS *", "OPTIONS /auth/envoy* HTTP/1.1\r\nHost: h\r\nx-forwarded-for: 203.0.113.9\r\n\r\n",
			request(edgeguard.Event{Addr: addr("203.0.113.9"), Known: described, Host: "h", Method: "OPTIONS", Path: "*"})},
		{"bytes beyond ASCII", "GET /auth/nginx HTTP/1.1\r\nHost: h\r\nUser-Agent: \xc3\xa9\xff\r\nX-Real-IP: 203.0.113.9\r\nX-Original-URI: /\xff\r\nX-Original-Method: GET\r\n\r\n",
			request(edgeguard.Event{Addr: addr("203.0.113.9"), Known: described, Host: "h", Method: "GET", Path: "/\xff", Agent: "\xc3\xa9\xff"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &desk{}
			l := listenTCP(t)
			start(t, d.config(), l)
			if got := raw(t, l, c.raw); got != "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" && !strings.HasPrefix(c.raw, "GET /auth/nginx HTTP/1.0") {
				t.Errorf("a pass is %q", got)
			}
			c.want.Named = true // by the proxy, also one on this host
			if diff := cmp.Diff(c.want, d.last(t), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// raw sends bytes and returns the answer up to the end of its header.
func raw(t *testing.T, l net.Listener, request string) string {
	t.Helper()
	c, err := net.Dial(l.Addr().Network(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for buf := make([]byte, 4096); !strings.Contains(string(got), "\r\n\r\n"); {
		n, err := c.Read(buf)
		got = append(got, buf[:n]...)
		if err != nil {
			t.Fatalf("%v after %q", err, got)
		}
	}
	return string(got)
}

func TestRefusal(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for path, status := range map[string]int{"/auth/nginx": 403, "/auth/forward": 429, "/auth/envoy/x": 429} {
			t.Run(network+path, func(t *testing.T) {
				d := &desk{limit: 2}
				l := listenTCP(t)
				if network == "unix" {
					l = listenUnix(t)
				}
				s := start(t, d.config(), l)
				c := client(t, l)
				who := [][2]string{{"X-Real-IP", "203.0.113.9"}, {"X-Forwarded-For", "203.0.113.9"}}
				for range 2 {
					if r, body := ask(t, c, "GET", path, who...); r.StatusCode != 200 || body != "" || len(r.Header) != 1 {
						t.Fatalf("a pass is %d %v %q", r.StatusCode, r.Header, body)
					}
				}
				r, body := ask(t, c, "GET", path, who...)
				if r.StatusCode != status {
					t.Errorf("status %d, want %d", r.StatusCode, status)
				}
				want := http.Header{"Retry-After": {"42"}, "X-Edgeguard-Rule": {"site"}, "Ratelimit": {`"site";r=0;t=42`},
					"Ratelimit-Policy": {`"site";q=100;w=300`}, "Content-Type": {"application/problem+json"}, "Content-Length": {fmt.Sprint(len(body))}}
				if path == "/auth/nginx" {
					want["X-Edgeguard-Status"] = []string{"429"}
				}
				if diff := cmp.Diff(want, r.Header); diff != "" {
					t.Error(diff)
				}
				if want := `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
					`"title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":["site"]}`; body != want {
					t.Errorf("body %s", body)
				}
				if got := s.Stats(); got != (Stats{Passed: 2, Refused: 1}) {
					t.Errorf("stats %+v", got)
				}
			})
		}
	}
}

func TestNotFound(t *testing.T) {
	d := &desk{}
	l := listenTCP(t)
	start(t, d.config(), l)
	for _, path := range []string{"/", "/auth", "/auth/nginxx", "/auth/nginx/", "/auth/forward/x", "/auth/envoyx", "/healthz"} {
		if r, body := ask(t, client(t, l), "GET", path); r.StatusCode != 404 || !strings.Contains(body, "/auth/nginx") {
			t.Errorf("%s: %d %q", path, r.StatusCode, body)
		}
	}
	if d.asked() != 0 {
		t.Error("something was counted")
	}
}

func TestNoClientPasses(t *testing.T) {
	d := &desk{limit: -1} // refuses everybody
	l := listenUnix(t)
	s := start(t, d.config(), l)
	for path, line := range map[string][2]string{
		"/auth/nginx":   {"X-Forwarded-For", "203.0.113.9"}, // not this protocol's header
		"/auth/forward": {"X-Real-IP", "203.0.113.9"},
		"/auth/envoy/":  {"X-Forwarded-For", "unknown"},
	} {
		if r, _ := ask(t, client(t, l), "GET", path, line); r.StatusCode != 200 {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
	if got := s.Stats(); got != (Stats{Passed: 3, NoClient: 3}) || d.asked() != 0 {
		t.Errorf("stats %+v, asked %d", got, d.asked())
	}
	if want := []string{"auth_no_client", "auth_no_client", "auth_no_client"}; !slices.Equal(d.heard(), want) {
		t.Errorf("alarms %v", d.heard())
	}
}

// TestStranger is the second half of fault 11: whatever headers a peer sends
// that is not trusted, it is one address, and that is limited.
func TestStranger(t *testing.T) {
	d := &desk{limit: 50}
	c := d.config()
	trust, err := clientaddr.NewTrust([]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, false)
	if err != nil {
		t.Fatal(err)
	}
	c.Trust = trust
	l := listenTCP(t)
	s := start(t, c, l)
	hc := client(t, l)
	refused := 0
	for i := range 300 {
		forged := fmt.Sprintf("198.51.%d.%d", i>>8, i&255)
		path := []string{"/auth/nginx", "/auth/forward", "/auth/envoy/x"}[rand.IntN(3)]
		r, _ := ask(t, hc, "GET", path, [2]string{"X-Forwarded-For", forged}, [2]string{"X-Real-IP", forged}, [2]string{"Forwarded", "for=" + forged},
			[2]string{"X-Original-URI", "/forged"}, [2]string{"X-Forwarded-Uri", "/forged"}, [2]string{"X-Request-Id", "same"})
		if r.StatusCode != 200 {
			refused++
		}
	}
	want := request(edgeguard.Event{Addr: addr("127.0.0.1")})
	if diff := cmp.Diff(want, d.last(t), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if refused != 250 || s.Stats().Strangers != 300 {
		t.Errorf("%d refused, %+v", refused, s.Stats())
	}
	if h := d.heard(); len(h) != 300 || h[0] != "auth_untrusted_peer" {
		t.Errorf("%d alarms", len(h))
	}
}

func TestPanicPasses(t *testing.T) {
	d := &desk{}
	c := d.config()
	c.Decide = func(time.Time, *edgeguard.Event) edgeguard.Verdict { panic("no rule") }
	l := listenTCP(t)
	s := start(t, c, l)
	hc := client(t, l)
	for range 3 {
		if r, _ := ask(t, hc, "GET", "/auth/nginx", [2]string{"X-Real-IP", "203.0.113.9"}); r.StatusCode != 200 {
			t.Errorf("status %d", r.StatusCode)
		}
	}
	if got := s.Stats(); got != (Stats{Passed: 3, Panics: 3}) || len(d.heard()) != 3 {
		t.Errorf("stats %+v, alarms %v", got, d.heard())
	}
}

// TestUnreadableIsRefused: nginx opens on anything but 2xx, 401 and 403, so
// what cannot be read must be a 403.
func TestUnreadableIsRefused(t *testing.T) {
	d := &desk{}
	l := listenTCP(t)
	s := start(t, d.config(), l)
	for _, c := range []struct{ name, raw, status string }{
		{"long header", "GET /auth/nginx HTTP/1.1\r\nHost: h\r\nX-Real-IP: 203.0.113.9\r\nCookie: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", "431"},
		{"long line", "GET /auth/envoy/" + strings.Repeat("x", 20<<10) + " HTTP/1.1\r\nHost: h\r\n\r\n", "431"},
		{"not HTTP", "\x16\x03\x01\x02\x00\x01\r\n\r\n", "400"},
		{"half a line", "GET\r\n\r\n", "400"},
	} {
		got := raw(t, l, c.raw)
		if !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, "X-Edgeguard-Status: "+c.status+"\r\n") {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if n := s.Stats().Unreadable; n != 4 || d.asked() != 1 {
		t.Errorf("%d unreadable, %d asked", n, d.asked())
	}
}

func TestLookUpCountsNothing(t *testing.T) {
	d := &desk{}
	c := d.config()
	c.LookUp = true
	l := listenTCP(t)
	start(t, c, l)
	ask(t, client(t, l), "GET", "/auth/nginx", [2]string{"X-Real-IP", "203.0.113.9"})
	if e := d.last(t); e.Kind != 0 || e.Verified != 0 || e.Addr != addr("203.0.113.9") {
		t.Errorf("event %+v", e)
	}
}

func TestFronted(t *testing.T) {
	d := &desk{}
	c := d.config()
	c.Fronted = true
	l := listenUnix(t)
	start(t, c, l)
	ask(t, client(t, l), "GET", "/auth/nginx", [2]string{"X-Real-IP", "203.0.113.9"})
	if !d.last(t).Proxied {
		t.Error("not proxied")
	}
}

func TestHeaderIsRead(t *testing.T) {
	var got [3]string
	c := inline.Config{Decide: func(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
		for i, name := range []string{"x-api-key", "user-agent", "x-none"} {
			if v, ok := e.Header(name); ok {
				got[i] = strings.Clone(v)
			}
		}
		return edgeguard.Verdict{}
	}}
	l := listenTCP(t)
	start(t, c, l)
	ask(t, client(t, l), "GET", "/auth/forward", [2]string{"X-Forwarded-For", "203.0.113.9"}, [2]string{"X-API-Key", "k"}, [2]string{"User-Agent", "a"})
	if got != [3]string{"k", "a", ""} {
		t.Errorf("read %q", got)
	}
}

func TestNewRefuses(t *testing.T) {
	decide := (&desk{}).decide
	for _, c := range []inline.Config{{}, {Decide: decide, Header: "a b"}, {Decide: decide, Connections: -1}} {
		if _, err := New(c); err == nil {
			t.Errorf("New(%+v) took it", c)
		}
	}
}
