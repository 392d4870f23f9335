package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// held is what a page keeps.
type held struct {
	heap  float64 // bytes that are reachable from its scripts
	nodes int64   // of its document, and those that only scripts still have
}

// holds returns what the page keeps after all garbage is collected.
func (b *tab) holds() (h held) {
	b.t.Helper()
	b.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		for range 3 { // what a finalizer lets go of goes with the next one
			if err := heapprofiler.CollectGarbage().Do(ctx); err != nil {
				return err
			}
		}
		if h.heap, _, _, _, err = runtime.GetHeapUsage().Do(ctx); err != nil {
			return err
		}
		_, h.nodes, _, err = memory.GetDOMCounters().Do(ctx)
		return err
	}))
	return h
}

// The page has its streams in window.streams, the newest last.
const keepStreams = `window.streams = []; window.EventSource = class extends EventSource { constructor(...a) { super(...a); streams.push(this); } }`

// busyMinutes is an hour of messages as a busy node sends them, one after the other:
// figures of every row every five seconds, each time others, and blocks that are made
// and lifted. The page shows them before the next ones come.
const busyMinutes = `(async () => {
	const stream = window.streams.at(-1), rows = document.querySelectorAll("table.blocks tbody tr").length;
	const begin = Date.now();
	for (let i = 0; i < MESSAGES; i++) {
		const figures = Array.from({length: rows}, (_, row) => ({rule: "site", count: 1000 + (i * 7 + row) % 500, limit: 38, refused: 10 * i + row, until: new Date(begin + 3600000 + i).toISOString(),
			slots: Array.from({length: 60}, (_, slot) => 1 + (i + row * slot) % 40)}));
		stream.dispatchEvent(new MessageEvent("figures", {data: JSON.stringify({time: new Date(begin + i).toISOString(), figures})}));
		for (const kind of ["block", "unblock"]) stream.dispatchEvent(new MessageEvent(kind, {data: "{}", lastEventId: ""}));
		if (i % 10 === 0) await new Promise(requestAnimationFrame);
	}
	return document.querySelector("table.blocks .meter + .mono").textContent;
})()`

// An hour of a busy page leaves it as small as it was. It comes compressed: the
// messages of the hour, one after the other, and with CONSOLE_FULL ten minutes of a
// node that makes and lifts six blocks in a second.
func TestLongOpen(t *testing.T) {
	n, log := follow(t, "edge-1", "rules: [{name: site, threshold: 40}]")
	const clients = 60
	now := time.Now().Truncate(width)
	for slot := range 60 {
		for addr := range clients {
			if _, err := log.WriteString(line(fmt.Sprintf("203.0.113.%d", addr), now.Add(time.Duration(slot-59)*width), "/x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	n.Until("all are blocked", func() bool { return n.status().V4 == clients })
	b := newTab(t)
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(keepStreams).Do(ctx)
		return err
	}))
	b.as(look{width: 1440, scheme: "light"}) // a small screen has no slots
	b.open(n.base + "/blocked")
	b.mark()
	b.until("it is live", isLive)
	n.block("203.0.113.1", "a note")
	b.until("one is newer", `document.querySelector("#newer button")?.textContent === "1 newer"`)
	b.hour(60) // what it makes only once, it has
	before := b.holds()
	if full {
		n.churn(10 * time.Minute)
	}
	if shown := b.hour(720); shown != "1,033" {
		t.Errorf("after the last message the first row has %s", shown)
	}
	after := b.holds()
	t.Logf("before: %.2f MB and %d nodes; after an hour: %.2f MB and %d nodes", before.heap/1e6, before.nodes, after.heap/1e6, after.nodes)
	if after.heap-before.heap > 5e6 || after.nodes*100 > before.nodes*105 || after.nodes*100 < before.nodes*95 {
		t.Error("at most 5 MB more, and 5 % more or fewer nodes are right")
	}
	if !eval[bool](b, "window.marked === true") {
		t.Error("the page was loaded again")
	}
}

// hour sends messages to the page, and returns the count that its first row then has.
func (b *tab) hour(messages int) (shown string) {
	b.t.Helper()
	b.do(chromedp.Evaluate(strings.Replace(busyMinutes, "MESSAGES", fmt.Sprint(messages), 1), &shown, awaited))
	return shown
}

// churn makes and lifts blocks for a while, six in a second.
func (n *node) churn(span time.Duration) {
	n.t.Helper()
	for i := range int(span / time.Second) {
		for j := range 6 {
			prefix := fmt.Sprintf("203.0.113.%d", 10+(6*i+j)%200)
			n.block(prefix, "a note")
			if _, err := n.admin.Unblock(n.t.Context(), prefix, "a mistake"); err != nil {
				n.t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
	}
}
