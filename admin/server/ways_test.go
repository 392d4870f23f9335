package server_test

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/console"
	"edgeguard/admin/server"
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
	private // reading that requires a login: as read, and refused without one
	door    // for clients that would be admitted with a login
	socket  // changing over the unix socket alone
	ask     // a page that asks before a change: as change, and it is read
)

var routes = map[string]sort{
	"GET /healthz": health,
	"GET /readyz":  health,

	"GET /":                            read,
	"GET /metrics":                     read,
	"GET /api/v1/openapi.json":         read,
	"GET /api/v1/status":               read,
	"GET /api/v1/fleet":                read,
	"GET /api/v1/fleet/held":           read,
	"GET /api/v1/rates":                read,
	"GET /api/v1/blocks":               read,
	"GET /api/v1/rules/{name}/outcome": read,
	"GET /api/v1/rules/{name}/history": read,
	"GET /api/v1/rules/{name}/key":     read,
	"GET /api/v1/blocks/{prefix...}":   read,
	"GET /api/v1/held":                 read,
	"GET /api/v1/allow":                read,
	"GET /api/v1/clients":              read,
	"GET /api/v1/explain/{address}":    read,
	"GET /api/v1/evidence/{prefix...}": read,
	"GET /api/v1/rules":                read,
	"GET /api/v1/rules/{name}":         read,
	"GET /api/v1/top":                  read,
	"GET /api/v1/events":               read,
	"GET /api/v1/history":              read,
	"GET /api/v1/attacks":              read,
	"GET /api/v1/attacks/{id}":         read,
	"GET /api/v1/rates/day":            read,
	"GET /api/v1/imports":              read,
	"GET /api/v1/watch":                read,

	"GET /api/v1/audit":               private,
	"GET /api/v1/samples/{prefix...}": private,
	"GET /api/v1/kernel":              private,
	"GET /api/v1/bouncers":            private,

	"GET /{$}":                             read,
	"GET /find":                            read,
	"GET /console/assets/{version}/{name}": door,
	"GET /login":                           door,
	"POST /login":                          door,
	"POST /logout":                         door,
	"POST /sessions/end":                   change,
	"GET /welcome":                         read,
	"GET /blocked":                         read,
	"GET /blocked/near":                    read,
	"GET /blocked/held":                    read,
	"GET /changes":                         read,
	"GET /help":                            read,
	"GET /help/{page...}":                  read,
	"GET /near":                            read,
	"GET /address/{address}":               read,
	"GET /network/{prefix...}":             read,
	"GET /attacks/{id}":                    read,
	"GET /rules":                           read,
	"GET /rules/{name}":                    read,
	"GET /allowed":                         read,
	"GET /held":                            read,
	"GET /fleet":                           read,
	"GET /neighbours":                      read,
	"GET /activity":                        read,
	"GET /about":                           read,
	"GET /health":                          read,

	"POST /api/v1/fleet/sign":             change,
	"POST /api/v1/bouncers":               change,
	"DELETE /api/v1/bouncers/{name}":      change,
	"POST /api/v1/kernel/try":             change,
	"POST /api/v1/kernel/confirm":         change,
	"POST /api/v1/kernel/clear":           change,
	"POST /api/v1/kernel/resume":          change,
	"POST /api/v1/blocks":                 change,
	"DELETE /api/v1/blocks":               change,
	"POST /api/v1/blocks/import":          change,
	"PATCH /api/v1/blocks/{prefix...}":    change,
	"DELETE /api/v1/blocks/{prefix...}":   change,
	"POST /api/v1/held/confirm":           change,
	"POST /api/v1/allow":                  change,
	"DELETE /api/v1/allow":                change,
	"POST /api/v1/allow/import":           change,
	"POST /api/v1/audit/{batch}/undo":     change,
	"POST /api/v1/imports/{name}/confirm": change,
	"DELETE /api/v1/allow/{prefix...}":    change,
	"POST /api/v1/clients":                change,
	"DELETE /api/v1/clients/{prefix...}":  change,
	"POST /api/v1/reload":                 change,
	"DELETE /api/v1/sessions":             change,
	"POST /api/v1/login-links":            socket,

	"PATCH /api/v1/rules/{name}":                         change,
	"DELETE /api/v1/rules/{name}/overlay":                change,
	"PUT /api/v1/rules/{name}/candidates/{threshold}":    change,
	"DELETE /api/v1/rules/{name}/candidates/{threshold}": change,

	"GET /allow":                    ask,
	"POST /allow":                   change,
	"GET /block":                    ask,
	"POST /block":                   change,
	"GET /confirm":                  ask,
	"POST /confirm":                 change,
	"GET /disallow":                 ask,
	"POST /disallow":                change,
	"GET /extend":                   ask,
	"POST /extend":                  change,
	"GET /rules/{name}/threshold":   ask,
	"POST /rules/{name}/threshold":  change,
	"POST /rules/{name}/candidates": change,
	"POST /rules/{name}/overlay":    change,
	"GET /unblock":                  ask,
	"POST /unblock":                 change,
	"GET /withdraw":                 ask,
	"POST /withdraw":                change,
	"POST /undo":                    change,
	"POST /neighbours":              change,

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
	proxy   bool   // a proxy logs people in at the listener
	from    string // "unix", or the address
	host    string
	header  map[string]string // a line break is between two of one name
	old     bool              // HTTP/1.0
	login   login             // before it asks
	answers [4]int
}

// login is how a client has logged in.
type login struct {
	token string // by this token
	link  bool   // by a link
	out   bool   // and has logged out
}

const stranger = "198.51.100.1"

// user is what the proxy sends.
func user(role, secret string) map[string]string {
	return map[string]string{"X-Forwarded-User": "alice", "X-Edgeguard-Role": role, "X-Edgeguard-Proxy-Secret": secret, "X-Forwarded-For": "198.51.100.1"}
}

const readerSecret = "the-token-of-readers"

const proxySecret = "the-secret-of-the-proxy"

// with returns m with another value.
func with(m map[string]string, name, value string) map[string]string {
	m[name] = value
	return m
}

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
	{name: "loopback, readers' token", token: true, from: "127.0.0.1", header: bearer(readerSecret), answers: [4]int{0, 0, 403, 403}},
	{name: "another host, readers' token", token: true, from: stranger, header: bearer(readerSecret), answers: [4]int{0, 0, 403, 403}},
	{name: "past the proxy, readers' token", token: true, proxy: true, from: "127.0.0.1", header: bearer(readerSecret), answers: [4]int{0, 0, 403, 403}},
	{name: "another host, no token", from: stranger, answers: [4]int{0, 403, 403, 403}},
	{name: "another host, token missing", token: true, from: stranger, answers: [4]int{0, 401, 401, 401}},
	{name: "another host, token", token: true, from: stranger, host: "edge.example", header: bearer(secret), answers: [4]int{0, 0, 0, 403}},
	{name: "proxy, operator", proxy: true, from: "127.0.0.1", host: "edge.example", header: user("operator", proxySecret), answers: [4]int{0, 0, 0, 403}},
	{name: "proxy, reader", proxy: true, from: "127.0.0.1", header: user("reader", proxySecret), answers: [4]int{0, 0, 403, 403}},
	{name: "proxy, unknown role", proxy: true, from: "127.0.0.1", header: user("Operator", proxySecret), answers: [4]int{0, 0, 403, 403}},
	{name: "proxy, role dropped", proxy: true, from: "127.0.0.1", header: user("", proxySecret), answers: [4]int{0, 0, 403, 403}},
	{name: "proxy, two roles", proxy: true, from: "127.0.0.1", header: user("reader\noperator", proxySecret), answers: [4]int{0, 400, 400, 400}},
	{name: "proxy, two users", proxy: true, from: "127.0.0.1", header: with(user("operator", proxySecret), "X-Forwarded-User", "mallory\nalice"), answers: [4]int{0, 400, 400, 400}},
	{name: "proxy, no user", proxy: true, from: "127.0.0.1", header: with(user("operator", proxySecret), "X-Forwarded-User", ""), answers: [4]int{0, 403, 403, 403}},
	{name: "proxy, a user of blanks", proxy: true, from: "127.0.0.1", header: with(user("operator", proxySecret), "X-Forwarded-User", " \t"), answers: [4]int{0, 403, 403, 403}},
	{name: "proxy, a user that turns the text around", proxy: true, from: "127.0.0.1", header: with(user("operator", proxySecret), "X-Forwarded-User", "a\u202eb"), answers: [4]int{0, 400, 400, 400}},
	{name: "proxy, a long user", proxy: true, from: "127.0.0.1", header: with(user("operator", proxySecret), "X-Forwarded-User", strings.Repeat("a", 200)), answers: [4]int{0, 400, 400, 400}},
	{name: "proxy, from a foreign page", proxy: true, from: "127.0.0.1", header: with(user("operator", proxySecret), "Sec-Fetch-Site", "cross-site"), answers: [4]int{403, 403, 403, 403}},
	{name: "proxy, a link of a foreign page", proxy: true, from: "127.0.0.1", header: with(with(with(user("operator", proxySecret), "Sec-Fetch-Site", "cross-site"), "Sec-Fetch-Mode", "navigate"), "Sec-Fetch-Dest", "document"), answers: [4]int{0, 0, 403, 403}},
	{name: "proxy, secret wrong", proxy: true, from: "127.0.0.1", header: user("operator", proxySecret+"0"), answers: [4]int{0, 400, 400, 400}},
	{name: "proxy, secret missing", proxy: true, from: "127.0.0.1", header: user("operator", ""), answers: [4]int{0, 400, 400, 400}},
	{name: "proxy, two secrets", proxy: true, from: "127.0.0.1", header: user("operator", proxySecret+"\n"+proxySecret), answers: [4]int{0, 400, 400, 400}},
	{name: "proxy, from another local address", proxy: true, from: "127.0.0.2", header: user("operator", proxySecret), answers: [4]int{0, 400, 400, 400}},
	{name: "proxy, from another host", proxy: true, from: stranger, header: user("operator", proxySecret), answers: [4]int{0, 400, 400, 400}},
	{name: "past the proxy on loopback", proxy: true, from: "127.0.0.1", answers: [4]int{0, 403, 403, 403}},
	{name: "past the proxy, rebound name", proxy: true, from: "127.0.0.1", host: "evil.example", answers: [4]int{0, 421, 421, 421}},
	{name: "past the proxy from another host", proxy: true, from: stranger, answers: [4]int{0, 403, 403, 403}},
	{name: "past the proxy with a token", proxy: true, token: true, from: "127.0.0.1", header: bearer(secret), answers: [4]int{0, 0, 0, 0}},
	{name: "past the proxy, token missing", proxy: true, token: true, from: "127.0.0.1", answers: [4]int{0, 401, 401, 401}},
	{name: "past the proxy with a token and a user", proxy: true, token: true, from: "127.0.0.1", header: with(bearer(secret), "X-Forwarded-User", "alice"), answers: [4]int{0, 400, 400, 400}},
	{name: "by the proxy with a token", proxy: true, token: true, from: "127.0.0.1", host: "edge.example", header: with(bearer(secret), "X-Edgeguard-Proxy-Secret", proxySecret), answers: [4]int{0, 0, 0, 403}},
	{name: "by the proxy, token missing", proxy: true, token: true, from: "127.0.0.1", header: with(user("operator", proxySecret), "X-Forwarded-User", ""), answers: [4]int{0, 401, 401, 401}},
	{name: "the proxy's unix socket, operator", proxy: true, from: "unix", host: "edge.example", header: user("operator", ""), answers: [4]int{0, 0, 0, 403}},
	{name: "the proxy's unix socket, reader", proxy: true, from: "unix", header: user("reader", ""), answers: [4]int{0, 0, 403, 403}},
	{name: "the proxy's unix socket, no user", proxy: true, from: "unix", answers: [4]int{0, 403, 403, 403}},
	{name: "the proxy's headers where no proxy is configured", from: "unix", header: user("operator", proxySecret), answers: [4]int{0, 403, 403, 403}},
	{name: "the proxy's headers beside a token", token: true, from: "127.0.0.1", header: user("operator", proxySecret), answers: [4]int{0, 401, 401, 401}},
	{name: "a foreign page's fetch", from: "127.0.0.1", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "empty"}, answers: [4]int{403, 403, 403, 403}},
	{name: "a foreign page's image over the unix socket", from: "unix", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, answers: [4]int{403, 403, 403, 403}},
	{name: "a foreign page's frame", token: true, from: "127.0.0.1", header: map[string]string{"Authorization": "Bearer " + secret, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, answers: [4]int{403, 403, 403, 403}},
	{name: "a foreign page's link", from: "127.0.0.1", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, answers: [4]int{0, 0, 403, 403}},
	{name: "a page of another port", from: "127.0.0.1", header: map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, answers: [4]int{403, 403, 403, 403}},
	{name: "typed into a browser", from: "127.0.0.1", header: map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, answers: [4]int{0, 0, 403, 403}},
	{name: "operator's session", token: true, from: "127.0.0.1", login: login{token: secret}, answers: [4]int{0, 0, 0, 0}},
	{name: "reader's session", token: true, from: "127.0.0.1", login: login{token: readerSecret}, answers: [4]int{0, 0, 403, 403}},
	{name: "operator's session from another host", token: true, from: stranger, host: "edge.example", login: login{token: secret}, answers: [4]int{0, 0, 0, 403}},
	{name: "session of a wrong token", token: true, from: "127.0.0.1", login: login{token: secret + "0"}, answers: [4]int{0, 401, 401, 401}},
	{name: "session by a link beside a token", token: true, from: "127.0.0.1", login: login{link: true}, answers: [4]int{0, 0, 0, 0}},
	{name: "session by a link without token", from: "127.0.0.1", login: login{link: true}, answers: [4]int{0, 0, 0, 0}},
	{name: "session by a link, past the proxy", proxy: true, from: "127.0.0.1", login: login{link: true}, answers: [4]int{0, 0, 0, 0}},
	{name: "session, logged out", token: true, from: "127.0.0.1", login: login{token: secret, out: true}, answers: [4]int{0, 401, 401, 401}},
	{name: "session without token, logged out", from: "127.0.0.1", login: login{link: true, out: true}, answers: [4]int{0, 0, 403, 403}},
	{name: "session beside a wrong token", token: true, from: "127.0.0.1", login: login{token: secret}, header: bearer(secret + "0"), answers: [4]int{0, 401, 401, 401}},
	{name: "operator's session beside a reader's token", token: true, from: "127.0.0.1", login: login{token: secret}, header: bearer(readerSecret), answers: [4]int{0, 0, 403, 403}},
	{name: "session beside a login of the proxy", token: true, from: stranger, host: "edge.example", login: login{token: secret}, header: map[string]string{"Authorization": "Basic YWxpY2U6c2VjcmV0"}, answers: [4]int{0, 0, 0, 403}},
	{name: "session over TLS", token: true, from: stranger, host: "edge.example", login: login{token: secret}, header: map[string]string{"X-Forwarded-Proto": "https"}, answers: [4]int{0, 0, 0, 403}},
	{name: "session by the proxy", token: true, proxy: true, from: "127.0.0.1", host: "edge.example", login: login{token: secret}, header: map[string]string{"X-Edgeguard-Proxy-Secret": proxySecret, "X-Forwarded-Proto": "https"}, answers: [4]int{0, 0, 0, 403}},
	{name: "operator's session of a user of the proxy", token: true, proxy: true, from: "127.0.0.1", host: "edge.example", login: login{token: secret}, header: user("reader", proxySecret), answers: [4]int{0, 0, 403, 403}},
	{name: "session, a foreign page's fetch", token: true, from: "127.0.0.1", login: login{token: secret}, header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, answers: [4]int{403, 403, 403, 403}},
	{name: "session, a foreign page's image", token: true, from: "127.0.0.1", login: login{token: secret}, header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, answers: [4]int{403, 403, 403, 403}},
	{name: "session, a foreign page's form", token: true, from: "127.0.0.1", login: login{token: secret}, header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, answers: [4]int{0, 0, 403, 0}},
	{name: "session, a foreign page's websocket", token: true, from: "127.0.0.1", login: login{token: secret}, header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "websocket", "Sec-Fetch-Dest": "websocket", "Connection": "Upgrade", "Upgrade": "websocket"}, answers: [4]int{403, 403, 403, 403}},
	{name: "session, a page of another port", token: true, from: "127.0.0.1", login: login{token: secret}, header: map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, answers: [4]int{403, 403, 403, 403}},
	{name: "session, an old browser's foreign page", token: true, from: "127.0.0.1", login: login{token: secret}, header: map[string]string{"Origin": "https://evil.example"}, answers: [4]int{0, 0, 403, 0}},
	{name: "session, a page of nowhere", token: true, from: "127.0.0.1", login: login{token: secret}, header: map[string]string{"Origin": "null"}, answers: [4]int{0, 0, 403, 0}},
	{name: "session, rebound name", token: true, from: "127.0.0.1", host: "evil.example", login: login{token: secret}, answers: [4]int{0, 421, 421, 421}},
	{name: "an old browser's foreign page", token: true, from: "127.0.0.1", header: map[string]string{"Authorization": "Bearer " + secret, "Origin": "https://evil.example"}, answers: [4]int{0, 0, 403, 0}},
}

// pages returns the routes of the console.
func pages() []string {
	n := newNode()
	return slices.Collect(maps.Keys(console.New(admin.NewView(n, n.events), nil).Routes()))
}

// Every route by every way.
func TestEveryRouteByEveryWay(t *testing.T) {
	listeners := make(map[kind]*server.Server)
	logins.SetPages([]string{"127.0.0.1:9190"})
	all := newServer(t, server.Config{}).Routes()
	all = append(all, pages()...)
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
			want := w.answer(sort, strings.HasPrefix(route, "GET "))
			serverHere := w.listener(t, listeners)
			got, body := w.ask(serverHere, route, w.logIn(t, serverHere, listeners))
			if strings.Contains(body, "This did not log you in") {
				got = http.StatusOK // the page's own answer
			}
			if refused := got == 401 || got == 403 || got == 421 || got == 400 && strings.Contains(body, "proxy"); want != 0 && got != want || want == 0 && refused {
				t.Errorf("%s: %s: %d, want %d: %s", w.name, route, got, want, body)
			}
		}
	}
}

// answer returns the answer of a sort of routes.
func (w *way) answer(sort sort, reading bool) int {
	site := w.header["Sec-Fetch-Site"]
	foreign := site != "" && site != "none" || w.header["Origin"] != ""
	open := !w.token && !w.proxy && w.from != "unix" // to any client of this host
	switch {
	case sort == door && !reading && foreign:
		return 403
	case sort == door && (w.answers[read] == 401 || w.answers[read] == 403 && w.proxy && !foreign):
		return 0
	case sort == door:
		return w.answers[read]
	case sort == socket && w.answers[change] == 0 && (w.from != "unix" || w.proxy):
		return 403
	case sort == socket:
		return w.answers[change]
	case sort == ask:
		return w.asking()
	case sort == private && w.answers[read] == 0 && open && (!w.login.link || w.login.out):
		return 403
	case sort == private:
		return w.answers[read]
	}
	return w.answers[sort]
}

// logIn logs the way's client in, and returns its cookie: each time, because a
// route can log it out.
func (w *way) logIn(t *testing.T, serverHere *server.Server, known map[kind]*server.Server) (cookie string) {
	t.Helper()
	if w.login == (login{}) {
		return ""
	}
	browser := *w // as it comes in a tab of its own
	browser.header = maps.Clone(w.header)
	for _, name := range []string{"Authorization", "Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "X-Forwarded-User"} {
		delete(browser.header, name)
	}
	if browser.host == "evil.example" {
		browser.host = ""
	}
	answer := browser.post(serverHere, "/login", "", url.Values{"token": {w.login.token}})
	if w.login.link {
		socket := way{from: "unix"}
		links := socket.send(socket.listener(t, known), "POST /api/v1/login-links", "", "{}", "application/json")
		_, link, _ := strings.Cut(strings.Trim(links.Body.String(), "\"\n]}"), "http://127.0.0.1:9190")
		link, _, _ = strings.Cut(link, `"`)
		answer = browser.send(serverHere, "GET "+link, "", "", "")
	}
	cookie, _, _ = strings.Cut(answer.Header().Get("Set-Cookie"), ";")
	if (cookie == "") != (w.login.token == secret+"0") {
		t.Fatalf("%s: logged in with %d: %s", w.name, answer.Code, answer.Body)
	}
	if w.login.out {
		browser.post(serverHere, "/logout", cookie, nil)
	}
	return cookie
}

// post sends a form with the token that a page had for it.
func (w *way) post(s *server.Server, path, cookie string, form url.Values) *httptest.ResponseRecorder {
	reading := *w
	reading.header = maps.Clone(w.header)
	delete(reading.header, "Origin")
	page := reading.send(s, "GET /login", cookie, "", "")
	all := url.Values{access.FormField: {page.Header().Get("Form-Token")}}
	maps.Copy(all, form)
	return w.send(s, "POST "+path, cookie, all.Encode(), "application/x-www-form-urlencoded")
}

// asking returns the answer of a page that asks before a change: that of a change, but
// a foreign page may lead an operator there by a link.
func (w *way) asking() int {
	operator := w.header["X-Edgeguard-Role"] == "operator" || w.header["Authorization"] == "Bearer "+secret || w.login.token == secret || w.login.link
	if operator && (w.header["Origin"] != "" || w.header["Sec-Fetch-Mode"] == "navigate") {
		return w.answers[read]
	}
	return w.answers[change]
}

// kind is what tells one listener from another.
type kind struct{ token, proxy, unix bool }

// listener returns the server of the listener at which w comes.
func (w *way) listener(t *testing.T, known map[kind]*server.Server) *server.Server {
	t.Helper()
	k := kind{w.token, w.proxy, w.from == "unix"}
	if known[k] != nil {
		return known[k]
	}
	c := server.Config{Logins: logins}
	if k.token {
		c.TokenFile, c.ReaderTokenFile = tokenFile(t, secret), tokenFile(t, readerSecret)
	}
	if k.proxy {
		c.ProxyAuth = access.ProxyAuth{Set: true, User: "X-Forwarded-User", Role: "X-Edgeguard-Role"}
		if !k.unix {
			c.ProxyAuth.From, c.ProxyAuth.SecretFile = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, tokenFile(t, proxySecret)
		}
	}
	known[k] = newServer(t, c)
	return known[k]
}

// logins are those of all listeners.
var logins = access.NewLogins()

var wildcard = regexp.MustCompile(`\{[^}]*\}`)

// ask sends one request for a route: that of a page with its form.
func (w *way) ask(s *server.Server, route, cookie string) (int, string) {
	method, path, _ := strings.Cut(route, " ")
	if path == "/" {
		path = "/nothing/there"
	}
	path = wildcard.ReplaceAllString(strings.TrimSuffix(path, "{$}"), "203.0.113.7")
	var answer *httptest.ResponseRecorder
	if method == "POST" && !strings.HasPrefix(path, "/api/") && routes[route] != 0 {
		answer = w.post(s, path, cookie, nil)
	} else {
		answer = w.send(s, method+" "+path, cookie, "{}", "application/json")
	}
	return answer.Code, answer.Body.String()
}

// send sends one request, without a network. Its context has ended, so that streams
// and profiles end, too.
func (w *way) send(s *server.Server, route, cookie, body, kind string) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(route, " ")
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost:9190"
	if w.host != "" {
		r.Host = w.host
	}
	if w.old {
		r.Proto, r.ProtoMinor = "HTTP/1.0", 0
	}
	r.Header.Set("Content-Type", kind)
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	for name, values := range w.header {
		for value := range strings.SplitSeq(values, "\n") {
			r.Header.Add(name, value)
		}
	}
	ctx, cancel := context.WithCancel(access.WithPeer(r.Context(), &lobby.Conn{Conn: wire{from: w.from}}))
	cancel()
	answer := httptest.NewRecorder()
	s.Handler.ServeHTTP(answer, r.WithContext(ctx))
	return answer
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
	s := newServer(t, server.Config{TokenFile: tokenFile(t, secret)})
	w := way{from: "127.0.0.1"}
	for _, route := range []string{
		"HEAD /api/v1/status", "GET //api/v1/status", "GET /healthz/../metrics", "GET /healthz/", "GET /healthz%2f..%2fmetrics", "GET /readyz;/metrics",
		"POST /healthz", "get /healthz", "OPTIONS /api/v1/blocks", "CONNECT /metrics", "TRACE /", "PUT /api/v1/blocks", "GET /debug/pprof", "GET /debug/pprof/heap",
	} {
		if status, body := w.ask(s, route, ""); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", route, status, body)
		}
	}
}
