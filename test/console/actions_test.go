package console

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard/admin"
)

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

// formOf returns the hidden fields of a page's form.
func formOf(p page) url.Values {
	_, main, _ := strings.Cut(p.body, "<main")
	fields := make(url.Values)
	for _, field := range hiddenField.FindAllStringSubmatch(main, -1) {
		fields.Add(field[1], html.UnescapeString(field[2]))
	}
	return fields
}

// post sends a form as an operator, or as somebody without a login.
func (n *ownNode) post(path string, fields url.Values, operator bool) page {
	n.t.Helper()
	asks := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if operator {
		asks.Transport = n.operator.Transport
	}
	r, err := http.NewRequestWithContext(n.t.Context(), "POST", n.base+path, strings.NewReader(fields.Encode()))
	if err != nil {
		n.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := asks.Do(r)
	if err != nil {
		n.t.Error(err)
		return page{}
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		n.t.Error(err)
	}
	return page{answer.StatusCode, answer.Header, string(body)}
}

// act opens the page of an action, sends its form and returns the page to which
// that leads, or the form with what is wrong.
func (n *ownNode) act(action, prefix string, more url.Values) page {
	n.t.Helper()
	form := formOf(n.get("/"+action+"?prefix="+url.QueryEscape(prefix), true))
	return n.submit("/"+action, form, more)
}

func (n *ownNode) submit(path string, form, more url.Values) page {
	n.t.Helper()
	for name, values := range more {
		form[name] = values
	}
	p := n.post(path, form, true)
	if p.status == http.StatusSeeOther {
		return n.get(p.header.Get("Location"), true)
	}
	return p
}

// answer returns what the forward auth says of a client's request.
func (n *ownNode) answer(addr string) int {
	n.t.Helper()
	r, _ := http.NewRequestWithContext(n.t.Context(), "GET", n.auth, nil)
	r.Header.Set("X-Real-IP", addr)
	r.Header.Set("X-Original-URI", "/x")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func (n *ownNode) refuses(addr string) bool {
	n.t.Helper()
	return n.answer(addr) == http.StatusForbidden
}

// audit returns what operators did, the newest first.
func (n *ownNode) audit() []admin.Audit {
	n.t.Helper()
	var all admin.AuditPage
	if err := json.Unmarshal([]byte(n.get("/api/v1/audit", true).body), &all); err != nil {
		n.t.Fatal(err)
	}
	return all.Audit
}

func note(text string) url.Values { return url.Values{"reason": {text}} }

// An address that is unblocked by a page passes, stays unblocked, and is blocked again
// by Undo as it was.
func TestUnblockByAPage(t *testing.T) {
	n := busy(t)
	was := n.explain(offender).Block
	if !n.refuses(offender) {
		t.Fatal("the offender is not refused")
	}
	done := n.act("unblock", offender, note("a customer"))
	if done.status != http.StatusOK || !strings.Contains(done.body, offender+" is unblocked on this node.") {
		t.Fatalf("%d\n%s", done.status, done.body)
	}
	for range limit / 2 {
		if n.refuses(offender) {
			t.Fatal("it is refused after the unblock")
		}
	}
	if a := n.audit()[0]; a.Action != "unblock" || a.Target != offender+"/32" || a.Detail != "a customer" || a.Way != "socket" || a.Role != "operator" || a.Result != "ok" {
		t.Errorf("audited as %+v", a)
	}
	undone := n.submit("/undo", formOf(done), nil)
	back := n.explain(offender).Block
	if back == nil || back.Rule != was.Rule || back.Until.Sub(was.Until).Abs() > time.Second || !n.refuses(offender) || !strings.Contains(undone.body, "is blocked again by rule site") {
		t.Errorf("was %+v, is %+v\n%s", was, back, undone.body)
	}
}

// What must not be blocked is refused, or asks whether it is meant; what was wrong is
// said at its field, and what was typed stays.
func TestBlockByAPage(t *testing.T) {
	n := start(t, "")
	for _, c := range []struct {
		prefix string
		more   url.Values
		status int
		says   string
	}{
		{"203.0.113.7", note(strings.Repeat("x", 4096)), 400, "longer than 256 bytes"},
		{"203.0.113.7", note("a\u202eb"), 400, "control characters"},
		{"203.0.113.7", note("a\u200bb"), 400, "not seen"},
		{"203.0.113.7", nil, 422, "a note is required"},
		{"127.0.0.1", note("x"), 409, "the box is not ticked"},
		{"20.0.0.0/8", note("x"), 409, "the box is not ticked"},
		{"203.0.113.7", url.Values{"reason": {"x"}, "prefix": {"20.0.0.0/8"}}, 409, "the box is not ticked"},
		{"203.0.113.7", url.Values{"reason": {"x"}, "prefix": {"192.0.2.7"}}, 422, "allowed"},
		{"203.0.113.7", url.Values{"reason": {"x"}, "prefix": {"203.0.113.7/24"}}, 400, "has host bits set"},
		{"203.0.113.7", url.Values{"reason": {"x"}, "csrf": {""}}, 403, "out of date"},
	} {
		if p := n.act("block", c.prefix, c.more); p.status != c.status || !strings.Contains(p.body, c.says) {
			t.Errorf("%s %.80v: %d, want %d and %q:\n%s", c.prefix, c.more, p.status, c.status, c.says, p.body)
		}
	}
	if status, err := n.admin.Status(t.Context()); err != nil || status.V4+status.V6 > 0 {
		t.Errorf("%+v, %v", status, err)
	}
	hostile := `</bdi><script>alert(1)</script>"><img src=x onerror=alert(1)>`
	if p := n.act("block", "203.0.113.7", note(hostile)); p.status != 200 || strings.Contains(p.body, "<script>") || strings.Contains(p.body, "<img") || !n.refuses("203.0.113.7") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	if a := n.audit()[0]; a.Action != "block" || !strings.HasSuffix(a.Detail, "reason: "+hostile) {
		t.Errorf("audited as %+v", a)
	}
	if p := n.act("block", "20.0.0.0/8", url.Values{"reason": {"x"}, "meant": {"yes"}}); p.status != 200 || !n.refuses("20.1.2.3") {
		t.Errorf("meant: %d\n%s", p.status, p.body)
	}
}

// A block that would refuse more than one request in five is made when its prefix is
// typed again.
func TestBlockOfACrowdByAPage(t *testing.T) {
	n := start(t, "")
	for i := range 20 {
		n.ask(fmt.Sprintf("198.51.100.%d", i+1), "/x", limit/2)
	}
	p := n.get("/block?prefix=198.51.100.0/24", true)
	for _, text := range []string{"It holds 20 addresses that sent requests in the last 5 minutes, about 100.0 % of all.", "would refuse 100 % of the last 5 minutes", "if you mean it"} {
		if !strings.Contains(html.UnescapeString(p.body), text) {
			t.Errorf("the page lacks %q:\n%s", text, p.body)
		}
	}
	if p := n.act("block", "198.51.100.0/24", url.Values{"reason": {"x"}, "meant": {"yes"}, "typed": {"198.51.100.0"}}); p.status != http.StatusConflict || n.refuses("198.51.100.1") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	if p := n.act("block", "198.51.100.0/24", url.Values{"reason": {"x"}, "typed": {"198.51.100.0/24"}}); p.status != http.StatusOK || !n.refuses("198.51.100.1") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
}

// A form that is sent many times together changes once.
func TestDoubleClick(t *testing.T) {
	n := start(t, "")
	n.block(offender, "x")
	form := formOf(n.get("/unblock?prefix="+offender, true))
	var clicks sync.WaitGroup
	var mu sync.Mutex
	led := make(map[string]int)
	for range 8 {
		clicks.Go(func() {
			p := n.post("/unblock", form, true)
			mu.Lock()
			defer mu.Unlock()
			led[fmt.Sprint(p.status, " ", p.header.Get("Location"))]++
		})
	}
	clicks.Wait()
	unblocks := slices.DeleteFunc(n.audit(), func(a admin.Audit) bool { return a.Action != "unblock" })
	if len(led) != 1 || len(unblocks) != 1 || unblocks[0].Result != "ok" {
		t.Errorf("%v, audited %+v", led, unblocks)
	}
}

// A block that ended, or is another one, since the page was made is shown and not
// changed; of several that were ticked only those are that are still what was seen.
func TestChangedMeanwhile(t *testing.T) {
	n := start(t, "")
	n.block("203.0.113.1", "first")
	n.block("203.0.113.2", "second")
	ended, changed := formOf(n.get("/unblock?prefix=203.0.113.1", true)), formOf(n.get("/unblock?prefix=203.0.113.2", true))
	n.block("203.0.113.3", "same")
	ticked := formOf(n.get("/unblock?prefix=203.0.113.1&prefix=203.0.113.2&prefix=203.0.113.3", true))
	if _, err := n.admin.Unblock(t.Context(), "203.0.113.1", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := n.admin.Block(t.Context(), admin.BlockRequest{Prefix: "203.0.113.2", For: "24h", Reason: "third"}); err != nil {
		t.Fatal(err)
	}
	if p := n.submit("/unblock", ended, nil); p.status != http.StatusNotFound || !strings.Contains(p.body, "is not blocked") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	if p := n.submit("/unblock", changed, nil); p.status != http.StatusConflict || !strings.Contains(p.body, "was changed since") || !strings.Contains(p.body, "third") || !n.refuses("203.0.113.2") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	if p := n.submit("/unblock", ticked, nil); !strings.Contains(p.body, "1 block is unblocked") || !n.refuses("203.0.113.2") || n.refuses("203.0.113.3") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
}

// Who has no login sees no button, and his form changes nothing.
func TestGuestsChangeNothing(t *testing.T) {
	n := start(t, "")
	n.block(offender, "x")
	form := formOf(n.get("/unblock?prefix="+offender, true))
	for _, path := range []string{"/blocked", "/address/" + offender, "/network/203.0.113.0/24"} {
		if body := n.get(path, false).body; strings.Contains(body, "/unblock") || strings.Contains(body, `method="post"`) {
			t.Errorf("%s offers a change:\n%s", path, body)
		}
		if body := n.get(path, true).body; !strings.Contains(body, "/unblock") {
			t.Errorf("%s offers an operator no change:\n%s", path, body)
		}
	}
	if p := n.get("/unblock?prefix="+offender, false); p.status == http.StatusOK {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	if p := n.post("/unblock", form, false); p.status != http.StatusForbidden || !n.refuses(offender) {
		t.Errorf("%d\n%s", p.status, p.body)
	}
}

// In a fleet an unblock by a page holds on both nodes, and so does its Undo.
func TestUnblockInAFleet(t *testing.T) {
	a, b := pair(t)
	b.ask(offender, "/x", limit+11)
	for _, n := range []*ownNode{a, b} {
		n.Until("it is blocked on both nodes", func() bool { return n.explain(offender).Block != nil })
	}
	done := a.act("unblock", offender, note("a customer"))
	if !strings.Contains(done.body, offender+" is unblocked on all 2 nodes of the fleet.") {
		t.Fatalf("%d\n%s", done.status, done.body)
	}
	b.Until("the other node lets it pass", func() bool { return !b.refuses(offender) })
	for range limit / 4 {
		for _, n := range []*ownNode{a, b} {
			if n.refuses(offender) {
				t.Fatal("it is refused after the unblock")
			}
		}
	}
	a.submit("/undo", formOf(done), nil)
	for _, n := range []*ownNode{a, b} {
		n.Until("it is blocked again on both nodes", func() bool { return n.refuses(offender) })
	}
}
