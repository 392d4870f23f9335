package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// countAsked has window.asked count the requests of a page by their way: how many are
// under way, how many were at most, and all.
const countAsked = keepStreams + `;
window.asked = {fetch: {now: 0, most: 0, all: 0}, xhr: {now: 0, most: 0, all: 0}};
const begins = of => { of.all++; of.most = Math.max(of.most, ++of.now); };
const real = window.fetch, send = XMLHttpRequest.prototype.send;
window.fetch = (...a) => { begins(asked.fetch); return real(...a).finally(() => asked.fetch.now--); };
XMLHttpRequest.prototype.send = function(...a) { begins(asked.xhr); this.addEventListener("readystatechange", () => { if (this.readyState === 4) asked.xhr.now--; }); return send.apply(this, a); }`

// pour sends at least 10,000 events to the page, 2,000 in a second where the machine
// is as fast, and goes on until a row has the focus and 200 more have come. So a page
// that is too busy for keys never ends it.
const pour = `window.poured = {events: 0, batches: 0, focused: 0, waited: 0};
addEventListener("keydown", e => poured.pressed = e.timeStamp, true);
addEventListener("focusin", () => { poured.focused = poured.events; poured.waited = performance.now() - poured.pressed; });
(async () => {
	const kinds = ["block", "unblock", "held"];
	for (let last = false; !last; await new Promise(next => setTimeout(next, 100))) {
		last = poured.events >= 10000 && poured.focused > 0;
		for (let i = 0; i < 200; i++) window.streams.at(-1).dispatchEvent(new MessageEvent(kinds[poured.events++ % 3], {data: "{}", lastEventId: ""}));
		poured.batches++;
	}
	poured.done = true;
})(), true`

// A page on which 10,000 events come in some seconds answers keys while they come, asks
// the node one thing at a time, and keeps none of them.
func TestFlood(t *testing.T) {
	n := start(t, "edge-1", rules)
	n.block(offender, "a note")
	b := newTab(t)
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(countAsked).Do(ctx)
		return err
	}))
	b.open(n.base + "/blocked")
	b.mark()
	b.until("it is live", isLive)
	before := b.holds()
	eval[bool](b, pour)
	b.until("many events have come", `poured.events >= 2000`)
	b.do(chromedp.KeyEvent("j"))
	b.until("the key has moved the focus", `document.activeElement.textContent === "`+offender+`"`)
	b.until("all events have come, and it asks nothing", `poured.done && asked.fetch.now === 0 && asked.xhr.now === 0`)
	type count struct{ Most, All int }
	said := eval[struct {
		Events, Batches, Focused int
		Waited                   float64
		Fetch, XHR               count
		Marked                   bool
	}](b, `({...poured, fetch: asked.fetch, xhr: asked.xhr, marked: window.marked === true})`)
	after := b.holds()
	t.Logf("the key was answered after %.0f ms (100 are right on an idle machine), at event %d of %d; %+v; the heap has %.1f MB and had %.1f",
		said.Waited, said.Focused, said.Events, said, after.heap/1e6, before.heap/1e6)
	if said.Focused < 2000 || said.Focused >= said.Events || !said.Marked {
		t.Error("the focus has not moved while events came, or the page was loaded again")
	}
	// The events of a batch come while none is answered: one request for the first, and
	// one for all others.
	for way, c := range map[string]count{"fetch": said.Fetch, "xhr": said.XHR} {
		if c.Most != 1 || c.All > 2*said.Batches+2 {
			t.Errorf("%s: %+v of %d batches; one at a time, and two of each batch at most are right", way, c, said.Batches)
		}
	}
	if after.heap > 50e6 {
		t.Error("at most 50 MB are right")
	}
}
