package admin_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/internal/lobby"
)

// sort of route: what it needs. A new route needs a row here, and one in package
// access.
type sort int

const (
	health sort = iota
	read
	change
	profile
)

var routes = map[string]sort{
	"GET /healthz": health,
	"GET /readyz":  health,

	"GET /":                            read,
	"GET /metrics":                     read,
	"GET /api/v1/openapi.json":         read,
	"GET /api/v1/status":               read,
	"GET /api/v1/fleet":                read,
	"GET /api/v1/blocks":               read,
	"GET /api/v1/rules/{name}/outcome": read,
	"GET /api/v1/blocks/{prefix...}":   read,
	"GET /api/v1/held":                 read,
	"GET /api/v1/allow":                read,
	"GET /api/v1/explain/{address}":    read,
	"GET /api/v1/rules":                read,
	"GET /api/v1/rules/{name}":         read,
	"GET /api/v1/top":                  read,
	"GET /api/v1/events":               read,

	"POST /api/v1/fleet/sign":           change,
	"POST /api/v1/blocks":               change,
	"PATCH /api/v1/blocks/{prefix...}":  change,
	"DELETE /api/v1/blocks/{prefix...}": change,
	"POST /api/v1/held/confirm":         change,
	"POST /api/v1/allow":                change,
	"DELETE /api/v1/allow/{prefix...}":  change,
	"POST /api/v1/reload":               change,

	"GET /debug/pprof/":        profile,
	"GET /debug/pprof/cmdline": profile,
	"GET /debug/pprof/profile": profile,
	"GET /debug/pprof/symbol":  profile,
	"GET /debug/pprof/trace":   profile,
}

// way is how a client comes. answers are the statuses of the sorts of routes in
// their order; 0 is any answer of the route itself.
type way struct {
	name    string
	token   bool   // the listener has a token
	from    string // "unix", or the address
	host    string
	header  map[string]string
	old     bool // HTTP/1.0
	answers [4]int
}

const stranger = "198.51.100.1"

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

var ways = []way{
	{name: "unix socket", from: "unix", answers: [4]int{0, 0, 0, 0}},
	{name: "unix socket, behind a proxy", from: "unix", header: map[string]string{"X-Forwarded-For": "198.51.100.1"}, answers: [4]int{0, 403, 403, 403}},
	{name: "unix socket, behind nginx as it comes", from: "unix", old: true, answers: [4]int{0, 403, 403, 403}},
	{name: "unix socket beside a token", token: true, from: "unix", answers: [4]int{0, 0, 0, 0}},
	{name: "loopback without token", from: "127.0.0.1", answers: [4]int{0, 0, 403, 403}},
	{name: "IPv6 loopback without token", from: "::1", answers: [4]int{0, 0, 403, 403}},
	{name: "loopback, needless token", from: "127.0.0.1", header: bearer(secret), answers: [4]int{0, 0, 403, 403}},
	{name: "loopback, behind nginx as it comes", from: "127.0.0.1", old: true, answers: [4]int{0, 403, 403, 403}},
	{name: "loopback, behind Apache", from: "127.0.0.1", header: map[string]string{"X-Forwarded-Host": "admin.example"}, answers: [4]int{0, 403, 403, 403}},
	{name: "loopback, behind X-Real-IP", from: "127.0.0.1", header: map[string]string{"X-Real-IP": "198.51.100.1"}, answers: [4]int{0, 403, 403, 403}},
	{name: "loopback, behind Via", from: "127.0.0.1", header: map[string]string{"Via": "1.1 varnish"}, answers: [4]int{0, 403, 403, 403}},
	{name: "loopback, behind Forwarded", from: "127.0.0.1", header: map[string]string{"Forwarded": "for=198.51.100.1"}, answers: [4]int{0, 403, 403, 403}},
	{name: "loopback, a lower-case header of a proxy", from: "127.0.0.1", header: map[string]string{"x-forwarded-proto": "https"}, answers: [4]int{0, 403, 403, 403}},
	{name: "loopback, rebound name", from: "127.0.0.1", host: "evil.example", answers: [4]int{0, 421, 421, 421}},
	{name: "loopback, token missing", token: true, from: "127.0.0.1", answers: [4]int{0, 401, 401, 401}},
	{name: "loopback, token wrong", token: true, from: "127.0.0.1", header: bearer(secret + "0"), answers: [4]int{0, 401, 401, 401}},
	{name: "loopback, token", token: true, from: "127.0.0.1", header: bearer(secret), answers: [4]int{0, 0, 0, 0}},
	{name: "loopback, token behind a proxy", token: true, from: "127.0.0.1", header: map[string]string{"Authorization": "Bearer " + secret, "Via": "1.1 x"}, answers: [4]int{0, 0, 0, 403}},
	{name: "another host, no token", from: stranger, answers: [4]int{0, 403, 403, 403}},
	{name: "another host, token missing", token: true, from: stranger, answers: [4]int{0, 401, 401, 401}},
	{name: "another host, token", token: true, from: stranger, host: "edge.example", header: bearer(secret), answers: [4]int{0, 0, 0, 403}},
	{name: "a foreign page's fetch", from: "127.0.0.1", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "empty"}, answers: [4]int{403, 403, 403, 403}},
	{name: "a foreign page's image over the unix socket", from: "unix", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, answers: [4]int{403, 403, 403, 403}},
	{name: "a foreign page's frame", token: true, from: "127.0.0.1", header: map[string]string{"Authorization": "Bearer " + secret, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, answers: [4]int{403, 403, 403, 403}},
	{name: "a foreign page's link", from: "127.0.0.1", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, answers: [4]int{0, 0, 403, 403}},
	{name: "a page of another port", from: "127.0.0.1", header: map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, answers: [4]int{403, 403, 403, 403}},
	{name: "typed into a browser", from: "127.0.0.1", header: map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, answers: [4]int{0, 0, 403, 403}},
	{name: "an old browser's foreign page", token: true, from: "127.0.0.1", header: map[string]string{"Authorization": "Bearer " + secret, "Origin": "https://evil.example"}, answers: [4]int{0, 0, 403, 0}},
}

// Every route by every way.
func TestEveryRouteByEveryWay(t *testing.T) {
	open, closed := newServer(t, admin.Config{}), newServer(t, admin.Config{TokenFile: tokenFile(t, secret)})
	all := open.Routes()
	for route := range routes {
		if !slices.Contains(all, route) {
			t.Errorf("%s has a row and does not exist", route)
		}
	}
	for _, route := range all {
		sort, ok := routes[route]
		if !ok {
			t.Errorf("%s has no row: add it here, and to package access with the least role that may use it", route)
			continue
		}
		for _, w := range ways {
			s := open
			if w.token {
				s = closed
			}
			got, body := w.ask(s, route)
			if refused := got == 401 || got == 403 || got == 421; w.answers[sort] != 0 && got != w.answers[sort] || w.answers[sort] == 0 && refused {
				t.Errorf("%s: %s: %d, want %d: %s", w.name, route, got, w.answers[sort], body)
			}
		}
	}
}

var wildcard = regexp.MustCompile(`\{[^}]*\}`)

// ask sends one request for a route, without a network. Its context has ended, so
// that streams and profiles end, too.
func (w *way) ask(s *admin.Server, route string) (int, string) {
	method, path, _ := strings.Cut(route, " ")
	if path == "/" {
		path = "/nothing/there"
	}
	r := httptest.NewRequest(method, wildcard.ReplaceAllString(path, "203.0.113.7"), strings.NewReader("{}"))
	r.Host = "localhost:9190"
	if w.host != "" {
		r.Host = w.host
	}
	if w.old {
		r.Proto, r.ProtoMinor = "HTTP/1.0", 0
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range w.header {
		r.Header.Set(name, value)
	}
	ctx, cancel := context.WithCancel(access.WithPeer(r.Context(), &lobby.Conn{Conn: wire{from: w.from}}))
	cancel()
	answer := httptest.NewRecorder()
	s.Handler.ServeHTTP(answer, r.WithContext(ctx))
	return answer.Code, answer.Body.String()
}

// wire is a connection of which only the peer is known.
type wire struct {
	net.Conn
	from string
}

func (w wire) RemoteAddr() net.Addr {
	if w.from == "unix" {
		return &net.UnixAddr{Net: "unix"}
	}
	return &net.TCPAddr{IP: net.ParseIP(w.from), Port: 1234}
}

// HEAD is refused as GET is, and so is what looks like a route.
func TestNoWayAround(t *testing.T) {
	s := newServer(t, admin.Config{TokenFile: tokenFile(t, secret)})
	w := way{from: "127.0.0.1"}
	for _, route := range []string{
		"HEAD /api/v1/status", "GET //api/v1/status", "GET /healthz/../metrics", "GET /healthz/", "GET /healthz%2f..%2fmetrics", "GET /readyz;/metrics",
		"POST /healthz", "get /healthz", "OPTIONS /api/v1/blocks", "CONNECT /metrics", "TRACE /", "PUT /api/v1/blocks", "GET /debug/pprof", "GET /debug/pprof/heap",
	} {
		if status, body := w.ask(s, route); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", route, status, body)
		}
	}
}
