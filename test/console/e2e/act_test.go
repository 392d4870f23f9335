package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// audit returns the node's audit, as text.
func (n *node) audit() string {
	n.t.Helper()
	r, err := http.NewRequestWithContext(n.t.Context(), "GET", n.shown+"/api/v1/audit", nil)
	if err != nil {
		n.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := asker.Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		n.t.Fatalf("%d %v", answer.StatusCode, err)
	}
	return string(body)
}

// An unblock by the page is in force on both nodes, stays, is in the audit with its
// note, and its undo brings the block back with the same end.
func unblockSticks(t *testing.T, w *world) {
	before := w.node.explain(offender).Block
	b := newTab(t)
	b.logIn(w.node, "/address/"+offender)
	b.click(`main a[href^="/unblock"]`)
	b.until("it asks", `location.pathname === "/unblock" && document.querySelector("form.act") !== null`)
	b.typed("input[name=reason]", "the customer called")
	b.click("form.act button.go")
	b.until("it is done", `location.pathname === "/address/`+offender+`" && document.readyState === "complete" && document.querySelector(".sentence").innerText.startsWith("Not blocked")`)
	requests := 3
	if full {
		requests = 60
	}
	nodes := []*node{w.node, w.other}
	for _, n := range nodes {
		n.Until("the address is unblocked", func() bool { return n.explain(offender).Block == nil })
	}
	for range requests {
		for _, n := range nodes {
			if n.ask(offender, "/x", 1) != 0 || n.explain(offender).Block != nil {
				t.Fatal("the address is refused again")
			}
		}
		if full {
			time.Sleep(time.Second)
		}
	}
	if audit := w.node.audit(); !strings.Contains(audit, `"unblock"`) || !strings.Contains(audit, "the customer called") || !strings.Contains(audit, `"session"`) {
		t.Errorf("the audit has %s", audit)
	}
	b.click(`form[action="/undo"] button`)
	for _, n := range nodes {
		n.blocked(offender)
		if after := n.explain(offender).Block; !after.Until.Equal(before.Until) || after.Rule != before.Rule {
			t.Errorf("before %+v, after %+v", before, after)
		}
	}
}

// Who is about to block himself, the host, what is allowed, or half of the world is
// refused or warned, in the API's words.
func shootOneself(t *testing.T, w *world) {
	for i := range 4 { // nearly half of all requests, each under every limit
		w.node.ask(fmt.Sprintf("100.65.9.%d", 8+i), "/", 180)
	}
	b := newTab(t)
	b.logIn(w.node, "/blocked")
	b.expects(w.node.shown + "/block") // a form that is refused has a status of its own
	for _, c := range []struct{ prefix, warns string }{
		{"127.0.0.1", "127.0.0.1"}, {"192.0.2.7", "allow"}, {"198.51.100.129", "allow"}, {"10.0.0.0/7", "wide"}, {"127.0.0.0/8", "127.0.0.1"}, {"nobody", "not"}, {"100.65.9.8/30", "%"},
	} {
		b.open(w.node.shown + "/block?prefix=" + c.prefix)
		if got := eval[string](b, `document.querySelector("main").innerText`); !strings.Contains(got, c.warns) {
			t.Errorf("%s: the page lacks %q:\n%s", c.prefix, c.warns, got)
		}
		if eval[bool](b, `document.querySelector("form.act[method=post]") !== null`) {
			b.do(chromedp.Evaluate("window.before = true", nil))
			b.typed("form.act input[name=reason]", "a mistake")
			b.do(chromedp.Evaluate(`document.querySelector("form.act").noValidate = true`, nil))
			b.click("form.act button.go")
			b.until("the form is answered", `window.before === undefined && document.readyState === "complete" && document.querySelector("[role=alert]") !== null`)
		}
		if listed := w.node.get("/api/v1/blocks?limit=1000"); strings.Contains(listed, fmt.Sprintf("%q", c.prefix)) || strings.Contains(listed, fmt.Sprintf(`"%s/32"`, c.prefix)) {
			t.Fatalf("%s is blocked without another word", c.prefix)
		}
	}
}

// logIn logs a tab in as a person does, and returns to the page.
func (b *tab) logIn(n *node, path string) {
	b.t.Helper()
	b.open(n.shown + path)
	// The page puts the focus there by itself. The browser reports who comes before it.
	b.until("the token is asked for", `document.activeElement?.id === "token"`)
	b.do(chromedp.KeyEvent(token + "\r"))
	b.at(n.shown + path)
}
