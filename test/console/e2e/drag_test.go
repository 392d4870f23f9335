package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"edgeguard/admin"
	"edgeguard/internal/words"
)

// population is what each key of the rule counts: many keys that count little, more
// than a tally keeps one by one, and a few far above them.
func population() (counts []int) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		counts = append(counts, 1+r.IntN(60))
	}
	for range 4200 {
		counts = append(counts, 66+int(14*r.ExpFloat64()))
	}
	return append(counts, 1105, 1140, 1260, 1388, 1490, 1702, 1963, 2086, 2410, 3310)
}

// crowd is a node whose rule has counted a population. Its window is so long that
// no count leaves it while a test runs.
func crowd(t *testing.T, more string) (*node, []int) {
	t.Helper()
	n, log := follow(t, "edge-1", "rules: [{name: site, window: 30m, threshold: 2000"+more+"}]")
	counts, now, lines := population(), time.Now(), 0
	out := bufio.NewWriter(log)
	for i, count := range counts {
		entry := line(fmt.Sprintf("198.18.%d.%d", i/250, i%250), now, "/x")
		for range count {
			lines++
			if _, err := out.WriteString(entry); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	n.Until("all lines are counted", func() bool { return n.status().Events.Decided >= uint64(lines) })
	return n, counts
}

// over counts by itself how many keys are over a limit, and the share of all that is
// above it.
func over(counts []int, limit float64) (keys uint64, share float64) {
	all, refused := 0.0, 0.0
	for _, count := range counts {
		all += float64(count)
		if float64(count) > limit {
			keys++
			refused += float64(count) - limit
		}
	}
	return keys, refused / all
}

// figures are what the page of a rule shows.
type figures struct {
	Field, Now, Limit, Keys, Share, Text string
	Exact                                bool
}

const readFigures = `(() => { const text = s => document.querySelector(s).textContent.replaceAll(",", "");
	return {field: document.querySelector(".try input").value, now: document.querySelector("[role=slider]").getAttribute("aria-valuenow"), limit: text("#limit"), keys: text("#keys"), share: text("#share"),
		text: document.querySelector("[role=slider]").getAttribute("aria-valuetext"), exact: document.querySelector(".about").hidden}; })()`

// tried waits until the page follows the line, and compares what it shows with what
// the API answers and with the counts themselves. It returns the threshold.
func (b *tab) tried(n *node, counts []int) int {
	b.t.Helper()
	b.until("the page follows the line", `document.querySelector(".follows[inert]") === null && JSON.parse(document.querySelector("#tune").textContent).tried.threshold == document.querySelector("[role=slider]").getAttribute("aria-valuenow")`)
	got := eval[figures](b, readFigures)
	var api admin.Outcome
	if err := json.Unmarshal([]byte(n.get("/api/v1/rules/site/outcome?threshold="+got.Now)), &api); err != nil {
		b.t.Fatal(err)
	}
	want := figures{Field: got.Now, Now: got.Now, Limit: fmt.Sprint(api.Limit), Keys: fmt.Sprint(api.Keys), Share: words.PercentShare(api.RequestShare), Exact: api.Exact, Text: got.Text}
	if got != want || !strings.Contains(strings.ReplaceAll(got.Text, ",", ""), want.Limit+": ") || !strings.Contains(got.Text, words.Number(api.Keys)+" address") || !strings.Contains(got.Text, want.Share) {
		b.t.Errorf("threshold %s: the page has %+v, the API %+v", got.Now, got, want)
	}
	if at := eval[string](b, `new URLSearchParams(location.search).get("threshold")`); at != got.Now {
		b.t.Errorf("the page's address has the threshold %s, the line %s", at, got.Now)
	}
	limit := float64(api.Limit)
	keys, share := over(counts, limit)
	if api.Limit < 64 || keys <= 1000 {
		if api.Keys != keys || math.Abs(api.RequestShare-share) > 1e-9 {
			b.t.Errorf("limit %v: %d and %v, counted %d and %v", limit, api.Keys, api.RequestShare, keys, share)
		}
	} else {
		most, mostShare := over(counts, limit*31/32)
		least, leastShare := over(counts, limit*33/32)
		if api.Keys < least || api.Keys > most || api.RequestShare < leastShare || api.RequestShare > mostShare {
			b.t.Errorf("limit %v: %d and %v, counted from %d to %d and from %v to %v", limit, api.Keys, api.RequestShare, least, most, leastShare, mostShare)
		}
	}
	if rows := eval[int](b, `document.querySelectorAll(".overs tbody tr").length`); keys > 0 && rows != int(min(keys, 50)) {
		b.t.Errorf("limit %v: %d addresses are listed, of %d", limit, rows, keys)
	}
	threshold, _ := strconv.Atoi(got.Now)
	return threshold
}

// place is where something is on the screen.
type place struct{ X, Y, W, H float64 }

func (b *tab) place(selector string) place {
	b.t.Helper()
	return eval[place](b, fmt.Sprintf(`(r => ({x: r.x, y: r.y, w: r.width, h: r.height}))(document.querySelector(%q).getBoundingClientRect())`, selector))
}

// A real mouse drags the line to five places, and keys move it by twenty steps. At
// each the page shows what the API answers, and that is what counting all keys gives.
func TestDrag(t *testing.T) {
	n, counts := crowd(t, "")
	b := newTab(t)
	b.as(look{width: 1440, scheme: "light"})
	b.open(n.base + "/rules/site")
	b.until("there is a line", `document.querySelector("[role=slider]") !== null`)
	b.mark()
	b.tried2000(n)
	plot := b.place(".slide")
	for _, to := range []float64{0.97, 0.1, 0.52, 0.56, 0.8} {
		grip := b.place(".grip")
		x, y := plot.X+to*plot.W, grip.Y+grip.H/2
		b.mouse(input.MousePressed, grip.X+grip.W/2, y)
		for step := range 8 {
			b.mouse(input.MouseMoved, grip.X+(x-grip.X)*float64(step)/8, y-float64(step))
		}
		b.mouse(input.MouseMoved, x, y)
		// The figures follow while the button is down; the list waits.
		b.until("the API's figures are shown while the line is held", `document.querySelector(".follows").inert && !document.querySelector("#fresh").textContent === (+document.querySelector("#keys").textContent.replaceAll(",", "") > 1000)`)
		b.mouse(input.MouseReleased, x, y)
		if threshold := b.tried(n, counts); threshold > 100 {
			if line := b.place(".slide line"); math.Abs(line.X+line.W/2-x) > 4 {
				t.Errorf("the pointer is at %v, and the line at %v", x, line.X)
			}
		}
	}
	before := b.tried(n, counts)
	for i, key := range []string{
		kb.ArrowLeft, kb.ArrowLeft, kb.ArrowRight, kb.ArrowUp, kb.ArrowDown, kb.PageDown, kb.PageDown, kb.ArrowRight, kb.PageUp, kb.PageDown,
		kb.Home, kb.ArrowRight, kb.ArrowRight, kb.ArrowLeft, kb.PageUp, kb.End, kb.ArrowLeft, kb.PageDown, kb.Home, kb.ArrowLeft,
	} {
		b.do(chromedp.KeyEvent(key))
		after := b.tried(n, counts)
		up := key == kb.ArrowRight || key == kb.ArrowUp || key == kb.PageUp || key == kb.End
		if up != (after > before) && before != 1 || after < 1 || after > 65534 {
			t.Errorf("key %d moved the line from %d to %d", i, before, after)
		}
		before = after
	}
	b.do(chromedp.Click("#suggested", chromedp.ByQuery))
	b.until("the suggestion is tried", `document.querySelector("#suggested") === null`)
	b.tried(n, counts)
	b.do(chromedp.SetValue(".try input", "1,500", chromedp.ByQuery))
	b.typed(".try input", "\r")
	b.until("what is typed is tried", `document.querySelector("[role=slider]").getAttribute("aria-valuenow") === "1500"`)
	b.tried(n, counts)
	if !eval[bool](b, "window.marked === true") {
		t.Error("the page was loaded again")
	}
}

// tried2000 compares an untouched page with the threshold in force.
func (b *tab) tried2000(n *node) {
	b.t.Helper()
	var api admin.Outcome
	if err := json.Unmarshal([]byte(n.get("/api/v1/rules/site/outcome?threshold=2000")), &api); err != nil {
		b.t.Fatal(err)
	}
	if got := eval[figures](b, readFigures); got.Now != "2000" || got.Keys != fmt.Sprint(api.Keys) || got.Limit != fmt.Sprint(api.Limit) {
		b.t.Errorf("untouched the page has %+v, the API %+v", got, api)
	}
}

func (b *tab) mouse(what input.MouseType, x, y float64) {
	b.t.Helper()
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		e := input.DispatchMouseEvent(what, x, y).WithButton(input.Left).WithClickCount(1)
		if what == input.MouseMoved {
			e = e.WithButtons(1)
		}
		return e.Do(ctx)
	}))
}

// A finger moves the line on a phone by its handle, which is wide enough.
func TestDragByTouch(t *testing.T) {
	n, counts := crowd(t, "")
	b := newTab(t)
	b.as(look{width: 360, scheme: "dark"})
	b.open(n.base + "/rules/site?threshold=300")
	b.until("there is a line", `document.querySelector("[role=slider]") !== null`)
	eval[bool](b, `document.querySelector(".grip").scrollIntoView({block: "center"}), true`)
	if hit := b.place("[role=slider] .hit"); hit.W < 43.9 || hit.H < 44 {
		t.Errorf("the handle is %v × %v", hit.W, hit.H)
	}
	plot, grip := b.place(".slide"), b.place(".grip")
	x, y := grip.X+grip.W/2, grip.Y+grip.H/2
	touch := func(what input.TouchType, points ...*input.TouchPoint) {
		t.Helper()
		b.do(input.DispatchTouchEvent(what, points))
	}
	to := plot.X + 0.85*plot.W
	touch(input.TouchStart, &input.TouchPoint{X: x, Y: y})
	for step := range 10 {
		touch(input.TouchMove, &input.TouchPoint{X: x + (to-x)*float64(step+1)/10, Y: y})
	}
	touch(input.TouchEnd)
	if threshold := b.tried(n, counts); threshold <= 600 {
		t.Errorf("the finger moved the line from 300 to %d", threshold)
	}
	if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > 360 {
		t.Errorf("the page is %d wide", wide)
	}
}
