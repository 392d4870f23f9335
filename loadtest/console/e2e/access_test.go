package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"

	"edgeguard/internal/nodetest"
)

// logIn logs a tab in as a person does, and returns to the page.
func (b *tab) logIn(n *node, path string) {
	b.t.Helper()
	b.expects(n.shown + path) // which answers that a login is required
	b.open(n.shown + path)
	b.until("the form is there", `document.querySelector("#token") !== null`)
	b.typed("#token", token+"\r")
	b.until("the page is there", fmt.Sprintf(`location.pathname + location.search === %q && document.querySelector("main h1") !== null && document.readyState === "complete"`, path))
}

// cookie returns the session's cookie.
func (b *tab) cookie() (found *network.Cookie) {
	b.t.Helper()
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		all, err := storage.GetCookies().WithBrowserContextID(b.cookies).Do(ofBrowser(ctx))
		for _, c := range all {
			if strings.Contains(c.Name, "edgeguard") && c.HTTPOnly {
				found = c
			}
		}
		return err
	}))
	return found
}

// with asks for a page with a cookie, as who has stolen it.
func with(t *testing.T, c *network.Cookie, address string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	r.Header.Set("Accept", "application/json")
	answer, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// A person logs in with the token, sees notes in ten tabs, and logs out. What the
// browser had is then worth nothing.
func TestLogin(t *testing.T) {
	n := start(t, "edge-1", rules)
	n.block(offender, "abuse report")
	b := newTab(t)
	b.expects(n.shown+"/login", n.shown+"/blocked?rule=manual")
	b.open(n.shown + "/blocked?rule=manual")
	b.typed("#token", "a wrong one\r")
	b.until("it is refused", `document.querySelector("[role=alert]")?.innerText.includes("did not log you in")`)
	b.typed("#token", token+"\r")
	b.until("it is back at the page", `location.pathname + location.search === "/blocked?rule=manual" && document.body.innerText.includes("abuse report")`)
	c := b.cookie()
	if c == nil || c.SameSite != network.CookieSameSiteStrict || eval[string](b, "document.cookie") != "" {
		t.Fatalf("%+v", c)
	}
	for range 10 {
		other := b.another()
		other.open(n.shown + "/blocked")
		other.until("a tab of the same browser is logged in", `document.readyState === "complete" && document.body.innerText.includes("abuse report")`)
	}
	if got := with(t, c, n.shown+"/api/v1/audit"); got != http.StatusOK {
		t.Errorf("with the cookie: %d", got)
	}
	b.click(`form[action="/logout"] button`)
	b.until("it is logged out", `location.pathname === "/login" && document.querySelector("#token") !== null`)
	if got := with(t, c, n.shown+"/api/v1/audit"); got != http.StatusUnauthorized {
		t.Errorf("with the cookie after the logout: %d", got)
	}
}

// The link of edgeguard console logs in the browser that opens it first.
func TestLoginLink(t *testing.T) {
	n := start(t, "edge-1", rules)
	n.block(offender, "abuse report")
	out, err := exec.CommandContext(t.Context(), os.Getenv(nodetest.Built), "console", "--config", n.Path("config.yaml")).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	link := ""
	for word := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(word, "http") {
			link = word
		}
	}
	b := newTab(t)
	b.open(link)
	b.until("it is logged in", `location.pathname === "/blocked" && document.body.innerText.includes("abuse report")`)
	thief := newTab(t)
	thief.expects("/login")
	thief.open(link)
	thief.until("the link was used", `document.body.innerText.includes("This link was used")`)
}

// A page of another site, or of another port of this host, changes nothing with the
// login of who looks at it.
func TestForeignForms(t *testing.T) {
	n := start(t, "edge-1", rules)
	n.block(offender, "abuse report")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!doctype html><title>other</title><link rel="icon" href="data:,"><form method="post" action="%s/unblock"><input name="prefix" value="%s"><input name="reason" value="x"><button>go</button></form>`, n.shown, offender)
	}))
	t.Cleanup(other.Close)
	b := newTab(t)
	b.logIn(n, "/blocked")
	for _, host := range []string{"localhost", "127.0.0.1"} {
		evil := b.another()
		evil.expects(n.shown, "CORS", "ERR_FAILED", "ERR_BLOCKED_BY", "WebSocket")
		evil.open(strings.Replace(other.URL, "127.0.0.1", host, 1))
		for _, script := range []string{
			`fetch(URL + "/unblock", {method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams({prefix: "203.0.113.45", reason: "x"})}).then(() => "done", () => "refused")`,
			`fetch(URL + "/api/v1/blocks/203.0.113.45", {method: "DELETE", credentials: "include"}).then(() => "done", () => "refused")`,
			`fetch(URL + "/api/v1/blocks", {method: "POST", mode: "no-cors", credentials: "include", headers: {"Content-Type": "text/plain"}, body: '{"prefix": "203.0.113.99"}'}).then(() => "done", () => "refused")`,
			`new Promise(done => { const s = new WebSocket((URL + "").replace("http", "ws") + "/api/v1/events"); s.onopen = () => done("open"); s.onerror = () => done("refused"); })`,
		} {
			var said string
			evil.do(chromedp.Evaluate(strings.ReplaceAll(script, "URL + ", fmt.Sprintf("%q + ", n.shown)), &said, awaited))
			if said == "open" {
				t.Errorf("%s from %s: %s", script, host, said)
			}
		}
		evil.click("button")
		evil.wait("the form was answered", func() bool {
			return !strings.HasPrefix(eval[string](evil, "location.origin"), strings.Replace(other.URL, "127.0.0.1", host, 1))
		})
		if n.explain(offender).Block == nil || n.explain("203.0.113.99").Block != nil {
			t.Fatalf("a page of %s changed the node", host)
		}
	}
}
