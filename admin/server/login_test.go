package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/server"
	"edgeguard/internal/lobby"
)

// browser keeps cookies as a browser does for one host: it does not tell ports
// apart.
type browser struct {
	way
	cookies map[string]string
}

func newBrowser(from, host string, header map[string]string) *browser {
	return &browser{way: way{from: from, host: host, header: header}, cookies: make(map[string]string)}
}

func (b *browser) keep(answer *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	for _, c := range answer.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c.Value
		}
	}
	return answer
}

func (b *browser) cookie() string {
	var all []string
	for name, value := range b.cookies {
		all = append(all, name+"="+value)
	}
	return strings.Join(all, "; ")
}

func (b *browser) get(s *server.Server, path string) *httptest.ResponseRecorder {
	return b.keep(b.send(s, "GET "+path, b.cookie(), "", ""))
}

func (b *browser) submit(s *server.Server, path string, form url.Values) *httptest.ResponseRecorder {
	return b.keep(b.post(s, path, b.cookie(), form))
}

func (b *browser) logIn(s *server.Server, token string) *httptest.ResponseRecorder {
	return b.submit(s, "/login", url.Values{"token": {token}})
}

// html is what a browser accepts that asks for a page.
var html = map[string]string{"Accept": "text/html,application/xhtml+xml;q=0.9"}

// mayChange reports whether a browser is an operator's, with its cookie alone.
func (b *browser) mayChange(s *server.Server) bool {
	return b.send(s, "POST /api/v1/reload", b.cookie(), "{}", "application/json").Code == http.StatusOK
}

// The cookie of a session is for this host and its own pages alone.
func TestCookie(t *testing.T) {
	s := newServer(t, server.Config{TokenFile: tokenFile(t, secret)})
	over := func(proto string) map[string]string { return map[string]string{"X-Forwarded-Proto": proto} }
	value := `=[A-Za-z0-9_-]{43}; Path=/; HttpOnly; `
	for _, c := range []struct {
		host   string
		header map[string]string
		want   string
	}{
		{"localhost:9190", nil, `^edgeguard-9190` + value + `SameSite=Strict$`},
		{"[::1]:9191", nil, `^edgeguard-9191` + value + `SameSite=Strict$`},
		{"edge.example", nil, `^edgeguard` + value + `SameSite=Strict$`},
		{"edge.example:x;y", nil, `^edgeguard` + value + `SameSite=Strict$`},
		{"edge.example", over("http"), `^edgeguard` + value + `SameSite=Strict$`},
		{"edge.example", over("https"), `^__Host-edgeguard` + value + `Secure; SameSite=Strict$`},
		{"edge.example:8443", over("HTTPS, http"), `^__Host-edgeguard-8443` + value + `Secure; SameSite=Strict$`},
	} {
		from := "127.0.0.1"
		if strings.HasPrefix(c.host, "edge") {
			from = stranger
		}
		b := newBrowser(from, c.host, c.header)
		got := b.logIn(s, secret).Header().Get("Set-Cookie")
		if !regexp.MustCompile(c.want).MatchString(got) || !b.mayChange(s) {
			t.Errorf("%s %v: %s", c.host, c.header, got)
		}
		out := b.submit(s, "/logout", nil).Header().Get("Set-Cookie")
		if name, _, _ := strings.Cut(got, "="); !strings.HasPrefix(out, name+"=; Path=/; Max-Age=0; HttpOnly; ") || len(b.cookies) > 0 {
			t.Errorf("%s %v: after logout %s", c.host, c.header, out)
		}
	}
}

// Every failure looks the same. The sixth token within a minute is not looked at, in
// a form and in a header, and neither locks out who is logged in.
func TestGuessing(t *testing.T) {
	n := newNode()
	s := serverOf(t, n, server.Config{TokenFile: tokenFile(t, secret), Audit: n.audit})
	inside := newBrowser("127.0.0.1", "", nil)
	inside.logIn(s, secret)
	b := newBrowser("127.0.0.1", "", nil)
	text := regexp.MustCompile(`(?s)<div class="banner bad" role="alert">.*?</div>`)
	said := make(map[string]int)
	for i, token := range []string{"", "wrong", secret + "0", strings.Repeat("x", 5000), "\x00", "sixth", secret} {
		answer := b.logIn(s, token)
		said[text.FindString(answer.Body.String())]++
		want, after := http.StatusForbidden, ""
		if i >= 5 {
			want, after = http.StatusTooManyRequests, "60"
		}
		if answer.Code != want || answer.Header().Get("Retry-After") != after || len(b.cookies) > 0 {
			t.Errorf("token %d: %d, after %q", i, answer.Code, answer.Header().Get("Retry-After"))
		}
	}
	if len(said) != 1 || said[""] > 0 {
		t.Errorf("not all failures look the same: %v", said)
	}
	right := way{from: "127.0.0.1", header: bearer(secret)}
	answer := right.send(s, "GET /api/v1/status", "", "", "")
	if answer.Code != http.StatusTooManyRequests || answer.Header().Get("Retry-After") != "60" {
		t.Errorf("the header beside the form: %d", answer.Code)
	}
	elsewhere := way{from: "127.0.0.2", header: bearer(secret)}
	if answer := elsewhere.send(s, "GET /api/v1/status", "", "", ""); answer.Code != http.StatusOK || !inside.mayChange(s) {
		t.Errorf("others are locked out, too: %d", answer.Code)
	}
	metrics := (&way{from: "unix"}).send(s, "GET /metrics", "", "", "").Body.String()
	for _, line := range []string{`edgeguard_admin_refusals_total{reason="token"} 5`, `edgeguard_admin_refusals_total{reason="login"} 3`} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	guessing := slices.DeleteFunc(n.allAudits(), func(a admin.Audit) bool { return a.Result == "ok" })
	want := admin.Audit{Time: start, Who: "127.0.0.1:1234", Role: "stranger", Action: "login", Result: "too many wrong tokens: this address has to wait"}
	if len(guessing) != 1 || !reflect.DeepEqual(guessing[0], want) {
		t.Errorf("audited: %+v", guessing)
	}
	n.later.Store(int64(time.Minute))
	if b.logIn(s, secret); !b.mayChange(s) {
		t.Error("still waits after a minute")
	}
}

// A login begins a session with a new secret, and ends the one before: what somebody
// else has set in the browser is worth nothing afterwards.
func TestSessionFixation(t *testing.T) {
	s := newServer(t, server.Config{TokenFile: tokenFile(t, secret), ReaderTokenFile: tokenFile(t, readerSecret)})
	for _, planted := range []string{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", ""} {
		thief, b := newBrowser("127.0.0.1", "", nil), newBrowser("127.0.0.1", "", nil)
		if planted == "" {
			thief.logIn(s, readerSecret)
			planted = thief.cookies["edgeguard-9190"]
		}
		thief.cookies["edgeguard-9190"], b.cookies["edgeguard-9190"] = planted, planted
		b.logIn(s, secret)
		if b.cookies["edgeguard-9190"] == planted || !b.mayChange(s) || thief.get(s, "/blocked").Code != http.StatusUnauthorized {
			t.Errorf("%q is still a session", planted)
		}
	}
}

// Of several cookies of one name, which programs of other ports can set, the one of
// a session counts.
func TestCookiesOfOtherPorts(t *testing.T) {
	s := newServer(t, server.Config{TokenFile: tokenFile(t, secret)})
	b := newBrowser("127.0.0.1", "", nil)
	b.logIn(s, secret)
	mine := b.cookie()
	for _, cookies := range []string{"edgeguard-9190=x; " + mine, strings.Repeat("edgeguard-9190=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA; ", 7) + mine, `a="; ` + mine} {
		if answer := b.send(s, "GET /blocked", cookies, "", ""); answer.Code != http.StatusOK {
			t.Errorf("%s: %d", cookies, answer.Code)
		}
	}
}

// Nodes on several ports of one host share a browser's cookies, and do not log each
// other out.
func TestTwoNodesOnOneHost(t *testing.T) {
	token := tokenFile(t, secret)
	one, two := newServer(t, server.Config{TokenFile: token}), newServer(t, server.Config{TokenFile: token})
	b := newBrowser("127.0.0.1", "localhost:9190", nil)
	b.logIn(one, secret)
	b.host = "localhost:9191"
	if b.mayChange(two) {
		t.Error("the session of one node is one of the other")
	}
	b.logIn(two, secret)
	if !b.mayChange(two) {
		t.Error("the second login fails")
	}
	if b.host = "localhost:9190"; !b.mayChange(one) {
		t.Error("the second node logged the first one out")
	}
	b.submit(one, "/logout", nil)
	if b.host = "localhost:9191"; !b.mayChange(two) {
		t.Error("logging out of the first node logged out of the second")
	}
}

// A session counts at the address at which its token does, and a link's at the one
// where it was opened.
func TestSessionOfAnotherAddress(t *testing.T) {
	shared := access.NewLogins()
	shared.SetPages([]string{"127.0.0.1:9190"})
	token := tokenFile(t, secret)
	one, same := newServer(t, server.Config{TokenFile: token, Logins: shared}), newServer(t, server.Config{TokenFile: token, Logins: shared})
	other, open := newServer(t, server.Config{TokenFile: tokenFile(t, readerSecret), Logins: shared}), newServer(t, server.Config{Logins: shared})
	b := newBrowser("127.0.0.1", "", nil)
	b.logIn(one, secret)
	if !b.mayChange(one) || !b.mayChange(same) || b.mayChange(other) || b.mayChange(open) {
		t.Error("by a token:", b.mayChange(one), b.mayChange(same), b.mayChange(other), b.mayChange(open))
	}
	b.get(open, link(t, open))
	if !b.mayChange(open) || b.mayChange(one) {
		t.Error("by a link:", b.mayChange(open), b.mayChange(one))
	}
}

// link has the node make a link and returns its path.
func link(t *testing.T, s *server.Server) string {
	t.Helper()
	answer := (&way{from: "unix"}).send(s, "POST /api/v1/login-links", "", "{}", "application/json")
	found := regexp.MustCompile(`http://[^/]*(/login\?link=[^"]*)"`).FindStringSubmatch(answer.Body.String())
	if found == nil {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	return found[1]
}

// A link logs in once, and only who opens it in a tab.
func TestLink(t *testing.T) {
	n, logins := newNode(), access.NewLogins()
	s := serverOf(t, n, server.Config{Logins: logins, Audit: n.audit})
	if answer := (&way{from: "unix"}).send(s, "POST /api/v1/login-links", "", "{}", "application/json"); answer.Code != http.StatusConflict || !strings.Contains(answer.Body.String(), "serves no pages") {
		t.Errorf("without pages: %d %s", answer.Code, answer.Body)
	}
	logins.SetPages([]string{"127.0.0.1:9190"})
	path := link(t, s)
	look := func(method string, header map[string]string) *httptest.ResponseRecorder {
		return newBrowser("127.0.0.1", "", header).send(s, method+" "+path, "", "", "")
	}
	for name, answer := range map[string]*httptest.ResponseRecorder{
		"HEAD":      look("HEAD", nil),
		"prefetch":  look("GET", map[string]string{"Sec-Purpose": "prefetch"}),
		"prerender": look("GET", map[string]string{"Sec-Purpose": "prefetch;prerender", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none"}),
		"preview":   look("GET", map[string]string{"X-Purpose": "preview"}),
		"image":     look("GET", map[string]string{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors"}),
		"another site's image": look("GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image",
			"Sec-Fetch-Mode": "no-cors"}),
		"a wrong one": newBrowser("127.0.0.1", "", nil).send(s, "GET "+path+"A", "", "", ""),
	} {
		if answer.Code < 400 || answer.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: %d", name, answer.Code)
		}
	}
	b := newBrowser("127.0.0.1", "", map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"})
	answer := b.get(s, path+"&next=/rules")
	if to := answer.Header().Get("Location"); answer.Code != http.StatusSeeOther || to != "/login?next=%2Frules" || b.get(s, to).Header().Get("Location") != "/rules" || !b.mayChange(s) {
		t.Errorf("%d to %s: %s", answer.Code, answer.Header().Get("Location"), answer.Body)
	}
	if again := b.get(s, path); again.Code != http.StatusSeeOther || len(again.Result().Cookies()) > 0 {
		t.Errorf("a second click: %d", again.Code)
	}
	if other := newBrowser("127.0.0.1", "", nil); other.get(s, path).Code != http.StatusForbidden || other.mayChange(s) {
		t.Error("the link works twice")
	}
	late := link(t, s)
	n.later.Store(int64(access.LinkLasts))
	if other := newBrowser("127.0.0.1", "", nil); other.get(s, late).Code != http.StatusForbidden || other.mayChange(s) {
		t.Error("an old link works")
	}
	var done []string
	for _, a := range n.allAudits() {
		done = append(done, fmt.Sprint(a.Action, " ", a.Role, " ", a.Way, " ", a.Result))
	}
	if want := []string{"login link operator socket ok", "login operator session ok", "reload operator session ok", "login link operator socket ok"}; !slices.Equal(done, want) {
		t.Errorf("audited: %q", done)
	}
}

// After a login the browser goes to a page of this node, wherever a link says.
func TestNextIsLocal(t *testing.T) {
	s := newServer(t, server.Config{TokenFile: tokenFile(t, secret)})
	for next, want := range map[string]string{
		"/blocked": "/blocked", "/address/2001:db8::1?rule=a%20b": "/address/2001:db8::1?rule=a%20b", "/network/192.0.2.0/24": "/network/192.0.2.0/24", "": "/",
		"//evil.example": "/", "/\\evil.example": "/", "\\\\evil.example": "/", "https://evil.example/": "/", "https:/evil.example": "/", "evil.example": "/", "javascript:alert(1)": "/",
		"/\t/evil.example": "/", "\n//evil.example": "/", "/\r\nSet-Cookie: a=b": "/", " //evil.example": "/", "///evil.example": "/", "/a b": "/",
		"/login?next=/login": "/", "/logout": "/", "/" + strings.Repeat("x", 3000): "/", "@evil.example": "/", "/é": "/", "?a": "/",
	} {
		b := newBrowser("127.0.0.1", "", nil)
		if got := b.submit(s, "/login", url.Values{"token": {secret}, "next": {next}}).Header().Get("Location"); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
		got := b.get(s, "/login?next="+url.QueryEscape(next)).Header().Get("Location")
		if want == "/" {
			want = "" // the page itself
		}
		if got != want {
			t.Errorf("%q leads who is logged in to %q, want %q", next, got, want)
		}
	}
}

// Who opens a page without the login that it requires is asked for one and comes
// back; a program gets the refusal.
func TestPagesAskForALogin(t *testing.T) {
	closed, open := newServer(t, server.Config{TokenFile: tokenFile(t, secret)}), newServer(t, server.Config{})
	b := newBrowser("127.0.0.1", "", html)
	answer := b.get(closed, "/address/203.0.113.7?rule=site")
	if to := answer.Header().Get("Location"); answer.Code != http.StatusSeeOther || to != "/login?next=%2Faddress%2F203.0.113.7%3Frule%3Dsite" {
		t.Errorf("%d to %q", answer.Code, to)
	}
	if answer := b.get(closed, "/nothing/there"); answer.Header().Get("Location") != "/login?next=%2Fnothing%2Fthere" {
		t.Errorf("what does not exist: %d %s", answer.Code, answer.Body)
	}
	for _, path := range []string{"/api/v1/status", "/api/v1/nothing"} {
		if answer := b.get(closed, path); answer.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, answer.Code)
		}
	}
	if answer := newBrowser("127.0.0.1", "", nil).get(closed, "/blocked"); answer.Code != http.StatusUnauthorized {
		t.Errorf("a program: %d", answer.Code)
	}
	if answer := b.get(open, "/blocked"); answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), `href="/login?next=%2Fblocked">Log in</a>`) {
		t.Errorf("a guest: %d", answer.Code)
	}
	foreign := newBrowser("127.0.0.1", "", map[string]string{"Accept": "text/html", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"})
	foreign.cookies = b.cookies
	if refresh := foreign.get(closed, "/login?next=%2Fblocked").Header().Get("Refresh"); refresh != "0; url=/login?next=%2Fblocked" {
		t.Errorf("by another site's link: Refresh %q", refresh)
	}
}

// Who has a login that does not do is shown why as a page, and a program as JSON.
func TestRefusalsArePages(t *testing.T) {
	s := newServer(t, server.Config{TokenFile: tokenFile(t, secret), ReaderTokenFile: tokenFile(t, readerSecret)})
	reader := newBrowser("127.0.0.1", "", maps.Clone(html))
	reader.logIn(s, readerSecret)
	stale := func(b *browser) *httptest.ResponseRecorder {
		return b.send(s, "POST /logout", b.cookie(), "csrf=00", "application/x-www-form-urlencoded")
	}
	for what, answer := range map[string]*httptest.ResponseRecorder{
		"role operator": reader.submit(s, "/sessions/end", nil), "out of date": stale(reader),
	} {
		if body := answer.Body.String(); answer.Code != http.StatusForbidden || !strings.Contains(body, `role="alert"`) || !strings.Contains(body, what) {
			t.Errorf("%s: %d %s", what, answer.Code, body)
		}
	}
	delete(reader.header, "Accept")
	if answer := stale(reader); answer.Code != http.StatusForbidden || answer.Header().Get("Content-Type") != "application/problem+json" || !reader.opens(s) {
		t.Errorf("a program: %d %s", answer.Code, answer.Body)
	}
}

// opens reports whether a browser sees pages that require a login.
func (b *browser) opens(s *server.Server) bool { return b.get(s, "/blocked").Code == http.StatusOK }

// A page says who looks at it, and offers what there is.
func TestFrameSaysWhoLooks(t *testing.T) {
	s := newServer(t, server.Config{TokenFile: tokenFile(t, secret), ReaderTokenFile: tokenFile(t, readerSecret)})
	for role, token := range map[string]string{"operator": secret, "reader": readerSecret} {
		b := newBrowser("127.0.0.1", "", nil)
		b.logIn(s, token)
		body := b.get(s, "/blocked").Body.String()
		if !strings.Contains(body, role+`</a><form method="post" action="/logout">`) || !strings.Contains(body, "Log out") {
			t.Errorf("%s: %s", role, body)
		}
		if body := b.get(s, "/login").Body.String(); strings.Contains(body, "End all sessions") != (role == "operator") {
			t.Errorf("%s: %s", role, body)
		}
	}
	for _, c := range []struct {
		from, proto string
		exposed     bool
	}{{"127.0.0.1", "", false}, {stranger, "", true}, {stranger, "https", false}, {"127.0.0.1", "http", true}, {"127.0.0.1", "https", false}} {
		header := map[string]string{}
		if c.proto != "" {
			header["X-Forwarded-Proto"] = c.proto
		}
		body := newBrowser(c.from, "", header).get(s, "/login").Body.String()
		if strings.Contains(body, "This connection is not encrypted") != c.exposed {
			t.Errorf("%+v: %s", c, body)
		}
	}
}

// Sessions and what goes on for them end with their token, with all others, and by
// time.
func TestSessionsEnd(t *testing.T) {
	for name, end := range map[string]func(n *node, s *server.Server, file string, b *browser) error{
		"its token changes": func(_ *node, s *server.Server, file string, _ *browser) error {
			if err := os.WriteFile(file, []byte(secret+"1"), 0o600); err != nil {
				return err
			}
			return s.ReadTokens()
		},
		"all end, by a page": func(_ *node, s *server.Server, _ string, _ *browser) error {
			other := newBrowser("127.0.0.2", "", nil)
			other.logIn(s, secret)
			if answer := other.submit(s, "/sessions/end", nil); answer.Code != http.StatusSeeOther {
				return fmt.Errorf("%d %s", answer.Code, answer.Body)
			}
			return nil
		},
		"all end, by a command": func(_ *node, s *server.Server, _ string, _ *browser) error {
			answer := (&way{from: "unix"}).send(s, "DELETE /api/v1/sessions", "", "", "application/json")
			if strings.TrimSpace(answer.Body.String()) != `{"sessions":1}` {
				return fmt.Errorf("%d %s", answer.Code, answer.Body)
			}
			return nil
		},
		"nobody uses it": func(n *node, _ *server.Server, _ string, _ *browser) error {
			n.later.Store(int64(access.SessionIdle))
			return nil
		},
		"it logs out": func(_ *node, s *server.Server, _ string, b *browser) error {
			stolen := maps.Clone(b.cookies)
			b.submit(s, "/logout", nil)
			b.cookies = stolen
			return nil
		},
	} {
		n, file := newNode(), tokenFile(t, secret)
		s := serverOf(t, n, server.Config{TokenFile: file})
		b := newBrowser("127.0.0.1", "", nil)
		if b.logIn(s, secret); !b.mayChange(s) {
			t.Fatalf("%s: never logged in", name)
		}
		if err := end(n, s, file, b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if answer := b.get(s, "/blocked"); answer.Code != http.StatusUnauthorized || b.mayChange(s) {
			t.Errorf("%s: %d", name, answer.Code)
		}
	}
}

// What a session receives all the time ends with it, whoever ends it.
func TestStreamEndsWithItsSession(t *testing.T) {
	for name, end := range map[string]func(s *served, b *browser){
		"it logs out":        func(s *served, b *browser) { b.submit(s.server, "/logout", nil) },
		"all end, by a page": func(s *served, b *browser) { b.submit(s.server, "/sessions/end", nil) },
		"all end, by a command": func(s *served, _ *browser) {
			(&way{from: "unix"}).send(s.server, "DELETE /api/v1/sessions", "", "", "application/json")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, newNode(), server.Config{TokenFile: tokenFile(t, secret), Pages: consolePages})
			b := newBrowser("127.0.0.1", s.tcp, nil)
			b.logIn(s.server, secret)
			for i, path := range []string{"/api/v1/events", "/api/v1/watch?prefix=203.0.113.9"} {
				request, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.tcp+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Cookie", b.cookie())
				answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
				if err != nil || answer.StatusCode != http.StatusOK {
					t.Fatal(answer, err)
				}
				defer answer.Body.Close()
				s.listening(t, i+1)
			}
			end(s, b)
			s.listening(t, 0)
		})
	}
}

// What goes on for a session that nobody uses ends with it, though nobody asks for it
// then.
func TestSessionEndsByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode()
		pages := func(view *admin.View, changes *admin.Changes) map[string]http.Handler {
			all := consolePages(view, changes)
			all["GET /about"] = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
			return all
		}
		s := serverOf(t, n, server.Config{TokenFile: tokenFile(t, secret), Pages: pages})
		b := newBrowser("127.0.0.1", "", nil)
		b.logIn(s, secret)
		ended := make(chan bool, 1)
		go func() {
			r := httptest.NewRequest("GET", "/about", nil)
			r.Host = "localhost:9190"
			r.Header.Set("Cookie", b.cookie())
			s.Handler.ServeHTTP(httptest.NewRecorder(), r.WithContext(access.WithPeer(r.Context(), &lobby.Conn{Conn: wire{from: "127.0.0.1"}})))
			ended <- true
		}()
		time.Sleep(access.SessionIdle - time.Minute)
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("it ended before its session")
		default:
		}
		n.later.Store(int64(access.SessionIdle))
		time.Sleep(time.Minute)
		<-ended
	})
}

// Without pages there is nothing to log in to.
func TestNoConsole(t *testing.T) {
	n := newNode()
	s, err := server.New(server.Config{View: admin.NewView(n, n.events), Operator: n, Metrics: noMetrics{}, TokenFile: tokenFile(t, secret)})
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser("127.0.0.1", "", html)
	for path, want := range map[string]int{"/blocked": http.StatusUnauthorized, "/login": http.StatusUnauthorized} {
		if answer := b.get(s, path); answer.Code != want {
			t.Errorf("%s: %d", path, answer.Code)
		}
	}
	b.header = bearer(secret)
	for path, want := range map[string]int{"/blocked": http.StatusNotFound, "/login": http.StatusNotFound, "/api/v1/status": http.StatusOK} {
		if answer := b.get(s, path); answer.Code != want {
			t.Errorf("%s: %d", path, answer.Code)
		}
	}
}

// noMetrics counts nothing.
type noMetrics struct{ http.Handler }

func (noMetrics) Refused(string) {}

// Who has no login learns nothing from the page for what there is not: its frame has the
// node's name and figures.
func TestMissingPageNeedsALogin(t *testing.T) {
	s := serve(t, newNode(), server.Config{TokenFile: tokenFile(t, secret), Pages: consolePages})
	for token, want := range map[string]string{"": `href="/login?next=%2Fnothing"`, secret: "There is no page /nothing."} {
		header := map[string]string{"Accept": "text/html"}
		if token != "" {
			header["Authorization"] = "Bearer " + token
		}
		status, body := s.ask(t, request{method: "GET", path: "/nothing", header: header})
		if token != "" && status != http.StatusNotFound || !strings.Contains(string(body), want) || token == "" && strings.Contains(string(body), "<html") {
			t.Errorf("with %q: %d without %q: %s", token, status, want, body)
		}
	}
}
