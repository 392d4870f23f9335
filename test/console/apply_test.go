package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"edgeguard/admin"
)

// rule returns a rule as the API has it.
func (n *ownNode) rule(name string) (found admin.Rule) {
	n.t.Helper()
	var all admin.RuleList
	n.json("/api/v1/rules", &all)
	for _, r := range all.Rules {
		if r.Name == name {
			found = r
		}
	}
	return found
}

// shows requires texts of a page.
func (p page) shows(t *testing.T, status int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if p.status != status || !strings.Contains(p.body, text) {
			t.Fatalf("%d, want %d with %q:\n%s", p.status, status, text, p.body)
		}
	}
}

// formTo returns the hidden fields of a page's form with this action.
func formTo(t *testing.T, p page, action string) url.Values {
	t.Helper()
	_, form, found := strings.Cut(p.body, `action="`+action+`"`)
	if !found {
		t.Fatalf("there is no form to %s:\n%s", action, p.body)
	}
	form, _, _ = strings.Cut(form, "</form>")
	return formOf(page{body: "<main" + form})
}

// A threshold is applied and undone by the pages alone, and the next verdict follows
// it; without a login there is no form.
func TestApplyThreshold(t *testing.T) {
	n := start(t, "  - {name: many, threshold: 60000}\n")
	n.ask(nearby, "/x", 12)
	for _, addr := range []string{"203.0.113.20", "203.0.113.21", "203.0.113.22", "203.0.113.23", "203.0.113.24", "203.0.113.25", "203.0.113.26", "203.0.113.27"} {
		n.ask(addr, "/x", 9)
	}
	const tried = "/rules/site?threshold=11"
	if guest := n.get(tried, false); strings.Contains(guest.body, "Apply…") || strings.Contains(guest.body, "<form method") {
		t.Errorf("a guest has a form:\n%s", guest.body)
	}
	if p := n.get("/rules/site/threshold?threshold=11", false); p.status == http.StatusOK {
		t.Errorf("a guest may ask: %d", p.status)
	}
	n.get(tried, true).shows(t, 200, `href="/rules/site/threshold?threshold=11"`, "Apply…", "Try 11 beside the live limit")

	n.submit("/rules/site/candidates", formTo(t, n.get(tried, true), "/rules/site/candidates"), nil).shows(t, 200, "11 is counted beside the live limit")
	if r := n.rule("site"); len(r.Candidates) != 2 || r.Threshold != 200 {
		t.Fatalf("%+v", r)
	}
	asks := n.get("/rules/site/threshold?threshold=11", true)
	asks.shows(t, 200, "Limit of site on edge-1: 190 → 11 requests.", "1 address that is not blocked now would be blocked by its next request: "+nearby, "overlay.yaml")
	form := formTo(t, asks, "/rules/site/threshold")
	applied := n.submit("/rules/site/threshold", form, url.Values{"note": {"ticket <b>4711</b>"}})
	applied.shows(t, 200, "The threshold of site is 11, its limit 11 requests.", "<b>Threshold 11</b>", "ticket &lt;b&gt;4711", "the config has 200", "Undo")
	if r := n.rule("site"); r.Threshold != 11 || r.Limit != 11 || r.Overlay == nil {
		t.Fatalf("%+v", r)
	}
	if status := n.answer(nearby); status == http.StatusOK {
		t.Error("the next request of an address over the limit passes")
	}
	if again := n.submit("/rules/site/threshold", form, nil); again.status != http.StatusOK || n.rule("site").Threshold != 11 {
		t.Errorf("the same form a second time: %d", again.status)
	}
	n.submit("/undo", formTo(t, applied, "/undo"), nil).shows(t, 200, "The threshold of site is 200 again.")
	if r := n.rule("site"); r.Threshold != 200 || r.Overlay != nil {
		t.Fatalf("after the undo: %+v", r)
	}
}

// A form that was made for another threshold changes nothing and says why; what
// would refuse much asks for a tick; and an overlay of yesterday can be undone, too.
func TestApplyIsRefused(t *testing.T) {
	n := start(t, "")
	for i := range 15 { // under the limit of 190, and enough to know a share
		n.ask(fmt.Sprintf("203.0.113.%d", i), "/x", 180)
	}
	stale := formTo(t, n.get("/rules/site/threshold?threshold=15", true), "/rules/site/threshold")
	refused := n.submit("/rules/site/threshold", formTo(t, n.get("/rules/site/threshold?threshold=11", true), "/rules/site/threshold"), nil)
	refused.shows(t, http.StatusConflict, "A threshold of 11 would refuse", "Tick the box below if this is intended.", "I mean it")
	if strings.Contains(refused.body, "use force") {
		t.Error("the page says how the API is called")
	}
	if n.rule("site").Threshold != 200 {
		t.Fatal("it was changed without a tick")
	}
	forced := n.submit("/rules/site/threshold", formTo(t, refused, "/rules/site/threshold"), url.Values{"meant": {"yes"}})
	forced.shows(t, 200, "The threshold of site is 11, its limit 11 requests.")
	n.submit("/rules/site/threshold", stale, nil).shows(t, http.StatusConflict, "is 11 and not 200: changed at")
	if n.rule("site").Threshold != 11 {
		t.Fatal("a stale form has changed it")
	}
	n.submit("/rules/site/overlay", formTo(t, n.get("/rules/site", true), "/rules/site/overlay"), nil).shows(t, 200, "The threshold of site is 200 again, as the config has it.")
	if r := n.rule("site"); r.Threshold != 200 || r.Overlay != nil {
		t.Fatalf("%+v", r)
	}
	for _, path := range []string{"/rules/none/threshold?threshold=5", "/rules/site/threshold?threshold=x", "/rules/site/threshold"} {
		if p := n.get(path, true); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, p.status)
		}
	}
	fields := url.Values{"threshold": {"11"}, "seen": {"200"}}
	if p := n.post("/rules/site/threshold", fields, true); p.status == http.StatusSeeOther || n.rule("site").Threshold != 200 {
		t.Errorf("a form without its token: %d", p.status)
	}
}

// Undo takes back what its page showed, and no change that somebody else has made
// since: neither the Undo after a change nor that of an overlay.
func TestUndoAfterAnothersChange(t *testing.T) {
	n := start(t, "")
	apply := func(threshold string) page {
		return n.submit("/rules/site/threshold", formTo(t, n.get("/rules/site/threshold?threshold="+threshold, true), "/rules/site/threshold"), nil)
	}
	first := apply("150")
	undo, ends := formTo(t, first, "/undo"), formTo(t, first, "/rules/site/overlay")
	second := apply("300")
	n.submit("/undo", undo, nil).shows(t, 200, "the threshold of rule site is 300 and not 150")
	n.submit("/rules/site/overlay", ends, nil).shows(t, 200, "Nothing was changed.", "the threshold of rule site is 300 and not 150")
	if r := n.rule("site"); r.Threshold != 300 {
		t.Fatalf("%+v", r)
	}
	n.submit("/undo", formTo(t, second, "/undo"), nil).shows(t, 200, "The threshold of site is 150 again.")
	n.submit("/rules/site/overlay", formTo(t, n.get("/rules/site", true), "/rules/site/overlay"), nil).shows(t, 200, "The threshold of site is 200 again, as the config has it.")
	if r := n.rule("site"); r.Threshold != 200 || r.Overlay != nil {
		t.Fatalf("%+v", r)
	}
}

// A candidate that was added by a page is removed by one; the config's has no button.
func TestRemoveCandidate(t *testing.T) {
	n := start(t, "")
	const path = "/rules/site/candidates"
	configs := len(n.rule("site").Candidates)
	added := n.submit(path, formTo(t, n.get("/rules/site?threshold=77", true), path), nil)
	if r := n.rule("site"); len(r.Candidates) != configs+1 || configs == 0 {
		t.Fatalf("%+v", r)
	}
	if buttons := strings.Count(added.body, "Remove</button>"); buttons != 1 {
		t.Errorf("%d buttons to remove one, want 1:\n%s", buttons, added.body)
	}
	_, form, _ := strings.Cut(added.body, "<h2>Candidates</h2>")
	remove := formTo(t, page{body: form}, path)
	for range 2 { // a double click
		n.submit(path, remove, nil).shows(t, 200, "77 is no longer counted.")
	}
	if r := n.rule("site"); len(r.Candidates) != configs {
		t.Errorf("%+v", r)
	}
	if guest := n.get("/rules/site", false); strings.Contains(guest.body, "Remove</button>") {
		t.Error("a guest has a button")
	}
}
