package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// The lists of rules and of who is near a limit follow the node without a reload; rows
// that somebody points at keep their order.
func TestFollow(t *testing.T) {
	n := start(t, "edge-1", rules)
	const other = "198.51.100.18"
	n.ask(nearby, "/x", 170)
	n.ask(other, "/x", 160)
	list, near := newTab(t), newTab(t)
	list.open(n.base + "/rules")
	near.open(n.base + "/blocked/near")
	for _, b := range []*tab{list, near} {
		b.mark()
		b.until("it is live", isLive)
	}
	const said = `[...document.querySelectorAll("main tbody tr")].map(r => r.cells[0].textContent + " " + r.querySelector(".meter + .mono").textContent).join()`
	near.until("both are near", said+` === "`+nearby+` 170,`+other+` 160"`)
	row := near.place("main tbody tr")
	move := func(x, y float64) { near.do(chromedp.MouseEvent(input.MouseMoved, x, y)) }
	move(row.X+row.W/2, row.Y+row.H/2)
	n.ask(other, "/x", 20)
	near.until("it counts more, in its place", said+` === "`+nearby+` 170,`+other+` 180"`)
	move(1, 1)
	near.until("it is the first", said+` === "`+other+` 180,`+nearby+` 170"`)
	n.ask(other, "/x", 20)
	list.until("the crossing is counted", `document.querySelector("main tbody tr").cells[8].textContent === "1"`)
	for _, b := range []*tab{list, near} {
		if !eval[bool](b, "window.marked === true") {
			t.Error("a page was loaded again")
		}
	}
}

// The page of the fleet follows what another node does without a reload.
func TestFleetFollows(t *testing.T) {
	one, two, _ := pair(t, rules)
	b := newTab(t)
	b.open(one.base + "/fleet")
	b.mark()
	b.until("it is live", isLive)
	const records = `[...document.querySelectorAll("dl.pairs div")].find(d => d.innerText.startsWith("records in Redis")).querySelector("dd").textContent`
	if n := eval[string](b, records); n != "0" {
		t.Fatalf("there are %s records already", n)
	}
	two.block(offender, "scraper")
	b.until("the record and the figures of both have come", records+` === "1" && document.querySelector("table.nodes").innerText.split("✓ same").length === 3`)
	if !eval[bool](b, "window.marked === true") {
		t.Error("the page was loaded again")
	}
}

// What begins to await confirmation is said on an open page, and goes when it was
// withdrawn.
func TestHeldBanner(t *testing.T) {
	one, two, _ := pair(t, rules)
	b := newTab(t)
	b.open(one.base + "/blocked")
	b.mark()
	b.until("it is live", isLive)
	const waits = `document.querySelector(".banners").innerText.includes("edgeguard blocks held")`
	if eval[bool](b, waits) {
		t.Fatal("something waits already")
	}
	two.block("11.0.0.0/8", "too wide")
	b.until("it says that a record waits", waits)
	if _, err := two.admin.Unblock(t.Context(), "11.0.0.0/8", "a mistake"); err != nil {
		t.Fatal(err)
	}
	b.until("it says so no longer", "!"+waits)
	if !eval[bool](b, "window.marked === true") {
		t.Error("the page was loaded again")
	}
}

// A page that gets no stream says so and asks instead, and is live when there is room
// again.
func TestTooManyPages(t *testing.T) {
	n := start(t, "edge-1", rules)
	n.ask(offender, "/x", limit+11)
	n.blocked(offender)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	for full := false; !full; { // of those without a login
		r, err := http.NewRequestWithContext(ctx, "GET", n.base+"/api/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := new(http.Transport).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		full = answer.StatusCode == http.StatusServiceUnavailable
	}
	b := newTab(t)
	b.expects("503", "/api/v1/watch")
	b.open(n.base + "/blocked")
	b.mark()
	b.until("it says that it asks", `document.querySelector(".asof").textContent.startsWith("Too many pages are live; this one every 10 s, ")`)
	n.ask(offender, "/x", 7)
	b.until("it follows all the same", row(offender)+`.querySelector(".refused").textContent === "`+fmt.Sprint(*n.explain(offender).Block.Refused)+`"`)
	end()
	n.Until("the others have gone", func() bool { return strings.Contains(n.get("/metrics"), "\nedgeguard_event_streams 0\n") })
	b.until("it is live", isLive)
	if !eval[bool](b, "window.marked === true") {
		t.Error("the page was loaded again")
	}
}
