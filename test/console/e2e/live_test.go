package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const isLive = `document.querySelector(".asof").textContent.startsWith("Live, ")`

// mark leaves something in the page that does not survive a reload.
func (b *tab) mark() {
	b.t.Helper()
	eval[bool](b, `window.marked = true`)
}

// row is an expression for a block's row.
func row(addr string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("table.blocks tbody tr")].find(r => r.dataset.prefix === "%s/32")`, addr)
}

// The rows of an open page follow the node without a reload: how much is refused, what
// is lifted, and how many blocks are newer, which come by a key.
func TestLiveRows(t *testing.T) {
	n := start(t, "edge-1", rules)
	n.ask(offender, "/x", limit+11)
	n.block("198.51.100.9", "a note")
	n.blocked(offender, "198.51.100.9")
	b := newTab(t)
	b.open(n.base + "/blocked")
	b.mark()
	b.until("it is live", isLive)
	n.ask(offender, "/x", 7)
	b.until("its row has what was refused", row(offender)+`.querySelector(".refused").textContent === "`+fmt.Sprint(*n.explain(offender).Block.Refused)+`"`)
	b.until("and its count now", row(offender)+`.querySelector(".meter + .mono").textContent === "`+fmt.Sprint(n.explain(offender).Rules[0].Count)+`"`)
	before := eval[[]string](b, `[...document.querySelectorAll("td.who a")].map(a => a.textContent)`)
	n.ask(nearby, "/x", limit+1)
	b.until("one is newer", `document.querySelector("#newer button")?.textContent === "1 newer"`)
	if _, err := n.admin.Unblock(t.Context(), "198.51.100.9", "a mistake"); err != nil {
		t.Fatal(err)
	}
	b.until("the other one is unblocked", row("198.51.100.9")+`.querySelector(".end time").textContent === "unblocked"`)
	if after := eval[[]string](b, `[...document.querySelectorAll("td.who a")].map(a => a.textContent)`); fmt.Sprint(after) != fmt.Sprint(before) || !eval[bool](b, "window.marked === true") {
		t.Errorf("the rows are %q, and were %q", after, before)
	}
	b.do(chromedp.KeyEvent("."))
	b.until("the newer one is there", row(nearby)+` !== undefined`)
}

// The chart moves by itself, and its numbers stay those of the API.
func TestLiveChart(t *testing.T) {
	n := start(t, "edge-1", rules)
	n.ask(nearby, "/x", 40)
	b := newTab(t)
	b.open(n.base + "/address/" + nearby)
	b.mark()
	b.until("it is drawn and live", `document.querySelector(".plotted canvas") !== null && `+isLive)
	for more := range 3 {
		n.ask(nearby, "/x", 10+more)
		b.wait("the numbers are those of explain", func() bool {
			c := n.explain(nearby).Rules[0]
			rows := eval[[]slotRow](b, readSlots)
			if int(c.Count) != rows[59].Sum {
				return false
			}
			for i, row := range rows {
				if row.Count != int(c.Slots[i]) {
					return false // the next slot has begun
				}
			}
			return true
		})
	}
	b.do(chromedp.Focus(".plotted", chromedp.ByQuery))
	last := eval[string](b, `document.querySelector(".plotted").getAttribute("aria-valuetext")`)
	b.do(chromedp.KeyEvent(kb.Home))
	b.until("the first slot is said", `document.querySelector("output").textContent.endsWith(" · 0 in 5 s · 0 so far")`)
	b.do(chromedp.KeyEvent(kb.End))
	b.until("and the last one", `document.querySelector(".plotted").getAttribute("aria-valuenow") === "59" && document.querySelector("output").textContent.endsWith(" 73 so far")`)
	if !strings.Contains(last, " in 5 s · ") || !eval[bool](b, "window.marked === true") {
		t.Errorf("%q, and the page was loaded again", last)
	}
}

// A page of a node that does not answer says so, disables what it could not do, and
// goes on by itself; after a restart it is loaded again.
func TestStale(t *testing.T) {
	t.Parallel() // it waits, and needs neither the keys nor the focus
	n := start(t, "edge-1", rules)
	n.block(offender, "a note")
	b := newTab(t)
	b.expects("ERR_", "Failed to load") // the node is away for a while
	b.open(n.base + "/blocked")
	b.until("it is live", isLive)
	b.mark()
	if err := syscall.Kill(n.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	b.until("it says that it has stopped", `/^Stopped at \d\d:\d\d:\d\d UTC, trying again$/.test(document.querySelector(".asof").textContent)`)
	if eval[bool](b, green) {
		t.Error("the dot beside the state is green, and nobody knows whether it still is true")
	}
	b.until("its buttons are off", `[...document.querySelectorAll("main button")].every(b => b.disabled)`)
	if err := syscall.Kill(n.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.until("it is live again", isLive+" && "+green+` && [...document.querySelectorAll("main button")].every(b => !b.disabled)`)
	if rows := eval[int](b, `document.querySelectorAll("table.blocks tbody tr").length`); rows != 1 || !eval[bool](b, "window.marked === true") {
		t.Errorf("%d rows, or the page was loaded again", rows)
	}
	n.Stop()
	n.launch()
	n.block("198.51.100.77", "after the restart")
	b.until("it goes on after a restart", `window.marked === true && document.querySelector("#newer button")?.textContent === "1 newer"`)
	n.Stop()
	eval[bool](b, `(document.querySelector("script[type=module]").removeAttribute("src"), true)`) // as before an upgrade
	n.launch()
	b.until("the page of another edgeguard is loaded", `window.marked === undefined && `+isLive)
}

// green says that no dot is of what is wrong, and the last has the colour of what goes well.
const green = `(() => {
	const probe = document.createElement("span");
	probe.style.color = "var(--ok)";
	document.body.append(probe);
	const ok = getComputedStyle(probe).color;
	probe.remove();
	return !document.querySelector(".dot.warn") && getComputedStyle([...document.querySelectorAll(".state .dot")].pop()).backgroundColor === ok;
})()`

// A page that stays open has the banner of an alarm and no green dot while it is so, and
// both as before when it has ended.
func TestDot(t *testing.T) {
	t.Parallel() // it waits, and needs neither the keys nor the focus
	n := prepare(t, "edge-1", rules+`enforce: {files: [{file: $DIR/list.txt, format: plain, every: 1s, reload: [/bin/test, -e, $DIR/there]}]}
`)
	there := func() {
		if err := os.WriteFile(n.Path("there"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	there()
	n.launch()
	n.block(offender, "a note")
	n.Until("the list is taken", func() bool { return n.status().Enforcers[0].Installed == 1 })
	b := newTab(t)
	b.open(n.base + "/blocked")
	b.until("it is live and green", isLive+" && "+green)
	b.mark()
	if err := os.Remove(n.Path("there")); err != nil {
		t.Fatal(err)
	}
	n.block("203.0.113.9", "a note")
	b.until("it says that the list is not taken", `document.querySelector(".banner.bad")?.innerText.includes("updates fail") && !`+green)
	there()
	b.until("it is green again", `document.querySelector(".banner") === null && `+green)
	if !eval[bool](b, "window.marked === true") {
		t.Error("the page was loaded again")
	}
}

// Ten tabs in one browser all work, though it opens six connections to a node: those
// that are not seen have no stream.
func TestTenTabs(t *testing.T) {
	n := start(t, "edge-1", rules)
	n.block(offender, "a note")
	var tabs []*tab
	for i := range 10 {
		b := newTab(t)
		if i > 0 {
			b = tabs[0].another()
		}
		b.open(n.base + "/blocked")
		b.until("it is live", isLive)
		b.hide(true)
		tabs = append(tabs, b)
	}
	n.Until("no stream is left", func() bool { return strings.Contains(n.get("/metrics"), "\nedgeguard_event_streams 0\n") })
	for _, b := range tabs {
		b.hide(false)
		b.until("it is live again", isLive)
		b.hide(true)
	}
}

// hide has a page learn that it is not seen, as of a tab behind another one.
func (b *tab) hide(hidden bool) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %t, configurable: true}) && document.dispatchEvent(new Event("visibilitychange"))`, hidden))
}

// Keys lead through the rows and pages, colours and the zone are kept, and keys can be
// switched off.
func TestKeys(t *testing.T) {
	n := start(t, "edge-1", rules)
	n.block("203.0.113.1", "")
	n.block("203.0.113.2", "at 12:00:00")
	b := newTab(t)
	b.open(n.base + "/blocked")
	press := func(key, what, expression string) {
		t.Helper()
		b.do(chromedp.KeyEvent(key))
		b.until(what, expression)
	}
	press("j", "the first row", `document.activeElement.textContent === "203.0.113.2"`)
	press("j", "the second row", `document.activeElement.textContent === "203.0.113.1"`)
	press("k", "the first row again", `document.activeElement.textContent === "203.0.113.2"`)
	press("/", "the search field", `document.activeElement.name === "q"`)
	press("t", "a letter in the field", `document.activeElement.value.endsWith("t") && document.documentElement.dataset.theme === undefined`)
	eval[bool](b, `document.activeElement.blur(), true`)
	press("t", "dark", `document.documentElement.dataset.theme === "dark"`)
	b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("r"))
	b.until("the page of the rules, in dark", `document.readyState === "complete" && location.pathname === "/rules" && document.documentElement.dataset.theme === "dark"`)
	press("?", "the list of keys", `location.pathname === "/help" && !document.querySelector("#choices").hidden`)
	b.click(`#choices [name="keys"]`)
	b.until("the choice is kept", `document.readyState === "complete" && localStorage.getItem("edgeguard-keys") === "off" && !document.querySelector('[name="keys"]').checked`)
	b.do(chromedp.KeyEvent("t"))
	if theme := eval[string](b, `document.documentElement.dataset.theme`); theme != "dark" {
		t.Errorf("keys are off, and the colours are %q", theme)
	}
}
