package e2e

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// looks are the widths and colours that pages are looked at in. Where not all are,
// each width is seen in one scheme, and each scheme at one width.
func looks() []look {
	if !full {
		return []look{{width: 360, scheme: "dark"}, {width: 1440, scheme: "light"}}
	}
	var all []look
	for _, width := range []int64{360, 768, 1440} {
		all = append(all, look{width: width, scheme: "light"}, look{width: width, scheme: "dark"})
	}
	return all
}

// Every page of every state of a node is laid out right in every look, and axe
// finds nothing.
func TestLook(t *testing.T) {
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			layout(t, world(t))
		})
	}
}

func layout(t *testing.T, w *world) {
	axe := readAxe(t)
	b := newTab(t)
	b.operator()
	for _, path := range w.pages {
		for _, l := range looks() {
			b.as(l)
			b.visit(w.node, path)
			b.wrong(path, l)
			b.axe(axe, path, l)
		}
		b.named(path)
	}
	stranger := newTab(t)
	stranger.open(w.node.shown + "/blocked")
	stranger.at(w.node.shown + "/login?next=%2Fblocked")
	stranger.looked(axe)
	if others := b.otherHosts(w.node.shown); len(others) > 0 || len(b.requests) < len(w.pages) {
		t.Errorf("of %d requests these go to other hosts: %q", len(b.requests), others)
	}
}

// looked looks at the page that is open, without loading it again.
func (b *tab) looked(axe string) {
	b.t.Helper()
	path := eval[string](b, "location.pathname")
	for _, l := range looks() {
		b.as(l)
		b.wrong(path, l)
		b.axe(axe, path, l)
	}
	b.named(path)
}

// visit opens a page with a login. One that is not found is a page too.
func (b *tab) visit(n *node, path string) {
	b.t.Helper()
	if answersNotFound(n, path) {
		b.expects(n.shown + path)
	}
	b.open(n.shown + path)
	b.until(path+" is there", `document.querySelector("main h1") !== null`)
}

// wrong fails the test for what is wrong with a page's layout.
func (b *tab) wrong(path string, l look) {
	b.t.Helper()
	script, err := os.ReadFile("look.js")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, text := range isolated[[]string](b, string(script), "wrong()") {
		b.t.Errorf("%s at %s: %s", path, l, text)
	}
}

// readAxe returns the script of axe-core, "" where it is not installed.
func readAxe(t *testing.T) string {
	t.Helper()
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	switch {
	case err == nil:
		return string(axe)
	case full:
		t.Fatalf("%v: run `npm ci` in test/console/e2e, or make console-test, which does", err)
	}
	t.Logf("SKIPPED: pages are not looked at by axe: %v", err)
	return ""
}

// axe fails the test for each violation that axe-core finds.
func (b *tab) axe(axe, path string, l look) {
	b.t.Helper()
	if axe == "" {
		return
	}
	const run = `axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r => ({
		checked: r.passes.length,
		found: r.violations.map(v => v.id + ": " + v.nodes.length + " × " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.target.join(" ") + " (" + (n.any.concat(n.all, n.none)[0] || {message: ""}).message + ")").join("; "))}))`
	said := isolated[struct {
		Checked int
		Found   []string
	}](b, axe, run)
	if said.Checked < 10 {
		b.t.Errorf("%s at %s: axe checked only %d things", path, l, said.Checked)
	}
	for _, text := range said.Found {
		b.t.Errorf("%s at %s: axe: %s", path, l, text)
	}
}

// named fails the test for each control without a name.
func (b *tab) named(path string) {
	b.t.Helper()
	controls := []string{"button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "slider", "listbox", "spinbutton", "image"}
	found := 0
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		all, err := accessibility.GetFullAXTree().Do(ctx)
		for _, n := range all {
			if n.Ignored || n.Role == nil || !slices.Contains(controls, text(n.Role)) {
				continue
			}
			found++
			if strings.TrimSpace(text(n.Name)) == "" {
				b.t.Errorf("%s: a %s has no name", path, text(n.Role))
			}
		}
		return err
	}))
	if found < 3 {
		b.t.Errorf("%s: only %d controls", path, found)
	}
}

func text(v *accessibility.Value) (s string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &s)
	}
	return s
}

// The Tab key goes through a page's controls in the order in which they are read,
// beginning with the link that leads past the navigation.
func tabKey(t *testing.T, w *world) {
	for _, width := range []int64{360, 1440} {
		b := newTab(t)
		b.as(look{width: width, scheme: "light"})
		b.open(w.node.base + "/blocked")
		// The link that reloads the page goes when the page moves by itself.
		b.until("it is live", `document.querySelector("main").innerText.includes("Live, ")`)
		const list = `window.controls = [...document.querySelectorAll("a[href], button, input, select, summary")].filter(e => e.checkVisibility() && e.type !== "hidden")`
		controls := eval[int](b, "("+list+").length")
		for i := range controls {
			b.do(chromedp.KeyEvent(kb.Tab))
			if at := eval[int](b, "window.controls.indexOf(document.activeElement)"); at != i {
				t.Fatalf("at %d the Tab key goes from control %d to %d: %s", width, i-1, at, eval[string](b, "document.activeElement.outerHTML"))
			}
		}
		if !eval[bool](b, `window.controls[0].matches(".skip")`) {
			t.Errorf("at %d the first control does not lead past the navigation", width)
		}
	}
}

// Pages hold together at twice the size, and on the narrowest screen that has to be
// served. What charts draw stays visible in the system's own colours.
func zoomed(t *testing.T, w *world) {
	pages := w.pages
	if !full {
		pages = everywhere
	}
	hold(t, w, pages, []look{{width: 320, scheme: "light"}, {width: 720, scheme: "dark"}, {width: 1440, scheme: "light", forced: true}, {width: 1440, scheme: "dark", forced: true}, {width: 1440, scheme: "light", text: 32}, {width: 768, scheme: "dark", text: 32}})
}

// hold looks at pages in these looks, without axe.
func hold(t *testing.T, w *world, pages []string, looks []look) {
	t.Helper()
	b := newTab(t)
	b.operator()
	for _, path := range pages {
		for _, l := range looks {
			b.as(l)
			b.visit(w.node, path)
			b.wrong(path, l)
		}
	}
}
