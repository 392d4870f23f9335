package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const width = 5 * time.Second // of a slot

// line is what a web server logs of a request.
func line(addr string, at time.Time, path string) string {
	return fmt.Sprintf("%s - - [%s] \"GET %s HTTP/1.1\" 200 612 \"-\" \"curl/8.0\"\n", addr, at.Format("02/Jan/2006:15:04:05 -0700"), path)
}

// follow starts a node that reads a log.
func follow(t *testing.T, name, rules string) (n *node, log *os.File) {
	t.Helper()
	n = prepare(t, name, "sensors: {accesslog: [{file: $DIR/access.log, format: combined}]}\n"+rules)
	log, err := os.Create(n.Path("access.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	n.launch()
	return n, log
}

// slotRow is a row of the table beneath the chart.
type slotRow struct {
	Begins     string
	Count, Sum int
}

const readSlots = `[...document.querySelectorAll("details tbody tr")].map(r => [...r.cells].map(c => c.textContent.replaceAll(",", ""))).map(c => ({begins: c[0], count: +c[1], sum: +c[2]}))`

// The sixty numbers of the page are those that were sent and those of the API, for
// an offender that sent 37 requests in each of 52 slots.
func TestSlots(t *testing.T) {
	const each, slots = 37, 52
	n, log := follow(t, "edge-1", "rules: [{name: site, threshold: 2000}]")
	now := time.Now()
	sent := map[string]int{}
	var all strings.Builder
	for i := range slots {
		at := now.Truncate(width).Add(time.Duration(i-slots) * width)
		sent[at.UTC().Format("15:04:05")] = each
		for range each {
			all.WriteString(line(offender, at.Add(time.Second), "/x"))
		}
	}
	if _, err := log.WriteString(all.String()); err != nil {
		t.Fatal(err)
	}
	n.blocked(offender)
	n.Until("all lines are counted", func() bool { return n.status().Events.Decided >= each*slots })
	b := newTab(t)
	b.wait("the page and explain were asked in the same slot", func() bool {
		before := n.explain(offender).Rules[0].Slots
		b.open(n.base + "/address/" + offender)
		rows := eval[[]slotRow](b, readSlots)
		after := n.explain(offender).Rules[0].Slots
		if !slices.Equal(before, after) {
			return false
		}
		if len(rows) != 60 {
			t.Fatalf("%d rows", len(rows))
		}
		sum := 0
		for i, row := range rows {
			sum += row.Count
			if row.Count != int(after[i]) || row.Count != sent[row.Begins] || row.Sum != sum {
				t.Errorf("slot %d: %+v on the page, %d for explain, %d sent", i, row, after[i], sent[row.Begins])
			}
		}
		return true
	})
	// The other view is of the moment at which it was blocked, and no script draws over it.
	b.open(n.base + "/address/" + offender + "?view=blocked")
	if rows := eval[[]slotRow](b, readSlots); len(rows) != 60 || rows[59].Sum != 1901 || !eval[bool](b, `document.querySelector("svg.chart .sum") !== null && document.querySelector(".plotted") === null`) {
		t.Errorf("when it was blocked: %+v", rows)
	}
	bars := strings.Count(n.get("/address/"+offender), `class="bar"`)
	if bars < slots-10 || bars > slots {
		t.Errorf("the chart has %d bars", bars)
	}
}

// clock is a time of day in a sentence, with a date where that is another day.
const clock = `(\d\d? [A-Z][a-z][a-z] \d{4} )?\d\d:\d\d:\d\d`

// The sentence about an address says what was brought about.
func sentences(t *testing.T, w *world) {
	m := monitor(t)
	b := newTab(t)
	b.operator()
	for _, c := range []struct {
		n          *node
		addr, want string
	}{
		{w.node, offender, `Blocked by rule site: 191 requests in 5 minutes, and the limit is 190. edge-1 made the block at ` + clock + `. Since then this node refused 1[01] events of it. It ends at ` + clock + ` on its own.`},
		{w.node, guesser, `Blocked by rule login: 20 requests in 5 minutes, and the limit is 19. edge-1 made the block at ` + clock + `. Since then this node refused 2[01] events of it. It ends at ` + clock + ` on its own.`},
		{w.node, sixth, `Blocked by rule site: 191 requests in 5 minutes, and the limit is 190. edge-2 made the block at ` + clock + `. Since then nothing of it came to this node. It ends at ` + clock + ` on its own.`},
		{w.node, spread, `Blocked by rule site: [\d,]+ requests in 5 minutes, and the limit is 190.* edge-[12] made the block at ` + clock + `.* It ends at ` + clock + ` on its own.`},
		{w.node, "198.51.100.70", `198.51.100.70 is inside 198.51.100.64/26, which was blocked by hand on edge-1 at ` + clock + `: “abuse report”. Since then nothing of it came to this node. It ends at .*` + clock + ` on its own.`},
		{w.node, "203.0.113.9", `Blocked by hand on edge-2 at ` + clock + `: “scraper, ticket 4711”. No rule is involved. Since then nothing of it came to this node. It ends at .*` + clock + ` on its own.`},
		{w.node, "11.1.1.1", `Not blocked: the block awaits confirmation. edge-2 made it; an operator has to confirm it here.`},
		{w.node, nearby, `Not blocked. The nearest is rule site: 171 requests, limit 190, 90.0 %.`},
		{w.node, prober, `Not blocked. The nearest is rule probing: 60 requests, limit 38, 157.9 %. That rule only reports.`},
		{w.node, "198.51.100.222", `Never blocked: .*198.51.100.128/25.*office.* Its requests are not counted.`},
		{w.node, "192.0.2.1", `Never blocked: .*192.0.2.0/24. Its requests are not counted.`},
		{w.node, "127.0.0.1", `Protected: .* It is blocked by force only.`},
		{w.node, "198.51.100.1", `Not blocked, and nothing is counted.`},
		{m.node, offender, `Would be blocked by rule site: 191 requests in 5 minutes, and the limit is 190. edge-1 made the block at ` + clock + `. This node is in monitor mode: nothing is refused..* It ends at ` + clock + ` on its own.`},
	} {
		b.open(c.n.shown + "/address/" + c.addr)
		if got := eval[string](b, `document.querySelector(".sentence").innerText`); !regexp.MustCompile("^" + c.want + "$").MatchString(got) {
			t.Errorf("%s:\n got %s\nwant %s", c.addr, got, c.want)
		}
	}
}

// hostile are texts that would be markup, or would change how the text around them
// is read, if a page did not mind.
var hostile = []string{
	`</bdi></script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `{{.Node}}</title><svg onload=alert(1)>`, `' onmouseover='alert(1)`,
	strings.Repeat("<b>", 85),
}

// strange are paths and names of browsers that a note of an operator may not have.
var strange = []string{"\u202Eright to left\u202C \u2066isolated", "\xff\xfe not UTF-8 \xe2\x80\xae", "%E2%80%AEencoded%00", strings.Repeat("<i>4 kB</i>", 400)}

// Nothing that a stranger, another node or an operator wrote becomes an element, and
// text that runs the other way stays in its place. A twin of the node has harmless
// text in each place.
func TestMarkup(t *testing.T) {
	twins := [2]*node{}
	for i, texts := range [][]string{{"a note"}, hostile} {
		name, rule := "edge-1", "a-rule"
		if i == 1 {
			name, rule = `<b>edge-1</b>`, `<script>alert(1)</script>`
		}
		n := start(t, strconv.Quote(name), fmt.Sprintf("rules:\n  - {name: site, threshold: 200}\n  - {name: %q, threshold: 20, match: {path: [/login]}}\n  - {name: agents, threshold: 500, key: {with: [path]}, action: shadow}\n", rule))
		for j := range hostile {
			n.block(fmt.Sprintf("203.0.113.%d", j), texts[j%len(texts)])
			n.allow(fmt.Sprintf("198.51.100.%d", j), texts[j%len(texts)])
		}
		for j, text := range slices.Concat(hostile, strange) {
			if i == 0 {
				text = fmt.Sprintf("page-%d", j)
			}
			n.askAs(fmt.Sprintf("203.0.113.%d", 100+j), "/"+text, text)
		}
		n.ask("203.0.113.200", "/login", 30)
		twins[i] = n
	}
	harmless, b := newTab(t), newTab(t)
	harmless.operator()
	b.operator()
	for _, path := range []string{"/blocked", "/allowed", "/changes", "/changes?kind=all", "/help", "/blocked/near", "/rules", "/rules/agents", "/health", "/address/203.0.113.0", "/address/203.0.113.200", "/address/203.0.113.4", "/address/198.51.100.1", "/address/203.0.113.105", "/network/203.0.113.0/24"} {
		harmless.open(twins[0].shown + path)
		b.open(twins[1].shown + path)
		const count = `document.querySelectorAll("*").length - document.querySelectorAll(".chart rect, .chart line, .chart text, details tr, details td, .plotted *, #newer *, .asof *").length`
		if x, y := eval[int](harmless, count), eval[int](b, count); x != y {
			t.Errorf("%s has %d elements, and %d with hostile text:\n%s", path, x, y, eval[string](b, "document.body.innerHTML"))
		}
		// A mark of the direction that is not isolated turns the rest of its line.
		for _, loose := range eval[[]string](b, `(() => { const found = [], all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
			for (let n; (n = all.nextNode());) if (/[\u202a-\u202e\u2066-\u2069]/.test(n.data) && !/isolate|plaintext/.test(getComputedStyle(n.parentElement).unicodeBidi)) found.push(n.parentElement.outerHTML.slice(0, 200));
			return found; })()`) {
			t.Errorf("%s: not isolated: %s", path, loose)
		}
	}
	for _, path := range []string{"/address/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/find?q=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E", "/rules/%3Cb%3E", "/blocked?rule=%3Cb%3E&prefix=%22%3E%3Cb%3E&order=%3Cb%3E", "/changes?kind=%3Cb%3E", "/network/%3Cimg%3E"} {
		b.expects(strings.SplitN(path, "%", 2)[0])
		b.open(twins[1].shown + path)
		if made := eval[int](b, `document.querySelectorAll("main b:not([role] b), main img, main script:not([type])").length`); made != 0 {
			t.Errorf("%s: %s", path, eval[string](b, `document.querySelector("main").innerHTML`))
		}
	}
}

// Without scripts a person finds an address, filters, turns a page, and reads the
// chart and its numbers.
func withoutScripts(t *testing.T, w *world) {
	for i := range 70 {
		w.node.block(fmt.Sprintf("100.64.0.%d", i), "")
	}
	b := newTab(t)
	b.withoutScripts()
	b.open(w.node.base + "/blocked")
	b.typed(`input[name=q]`, offender+"\r")
	b.until("the address is there", `location.pathname === "/address/`+offender+`" && document.readyState === "complete"`)
	if eval[int](b, `document.querySelectorAll(".chart .bar").length`) == 0 {
		t.Error("no chart")
	}
	b.click("details summary")
	b.until("the numbers are shown", `document.querySelector("details table").checkVisibility()`)
	b.open(w.node.base + "/blocked")
	b.typed(`select[name=rule]`, "login")
	b.click(".filters button")
	b.until("only one is left", `location.search.includes("rule=login") && document.readyState === "complete" && document.querySelectorAll("table.blocks tbody tr").length === 1`)
	b.open(w.node.base + "/blocked")
	first := eval[string](b, `document.querySelector("table.blocks tbody").innerText`)
	b.click(".foot a:last-of-type")
	b.until("the next page is there", `location.search.includes("cursor") && document.readyState === "complete"`)
	if second := eval[string](b, `document.querySelector("table.blocks tbody").innerText`); second == first {
		t.Error("the next page is the first again")
	}
}
