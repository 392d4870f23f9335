package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"edgeguard/internal/redistest"
)

// attackedRules are those that the attacks go over.
const attackedRules = `
rules:
  - {name: search, threshold: 20, match: {path: [/search]}}
  - {name: scripts, threshold: 20, match: {path: [/cgi]}}
  - {name: login, threshold: 20, match: {path: [/login]}}
`

// attacked are three nodes of a fleet on which three attacks go on: many networks flood a page, one network looks
// for scripts, one address tries passwords.
func attacked(t *testing.T, mode string) []*node {
	server := redistest.Start(t, redistest.Options{})
	install(t, server.Addr)
	var nodes []*node
	for i := range 3 {
		nodes = append(nodes, start(t, fmt.Sprintf("edge-%c", 'a'+i), mode+fmt.Sprintf("fleet: {redis: \"redis://%s\", namespace: now, max_nodes: 3}\n", server.Addr)+attackedRules))
	}
	nodes[0].Until("all nodes are there", func() bool { return nodes[0].status().Fleet.Alive == 3 })
	var who []string
	at := func(i int) *node {
		if mode != "" { // in monitor a node shares no blocks
			i = 0
		}
		return nodes[i%3]
	}
	for i := range 12 {
		flooder, scanner := fmt.Sprintf("8.8.%d.7", i), fmt.Sprintf("203.0.113.%d", 10+i)
		at(i).ask(flooder, "/search", 25)
		at(i+1).ask(scanner, "/cgi", 25)
		who = append(who, flooder, scanner)
	}
	at(2).ask("9.9.9.9", "/login", 30)
	nodes[0].block("198.51.100.64/26", "abuse report")
	nodes[0].ask(nearby, "/search", 18)
	nodes[0].blocked(append(who, "9.9.9.9", "198.51.100.70")...)
	return nodes
}

// The front page answers what an operator asks, without a click and without a guess: in mode monitor with what would be.
func TestTenQuestions(t *testing.T) {
	for name, mode := range map[string]string{"enforce": "", "monitor": "mode: monitor\n"} {
		t.Run(name, func(t *testing.T) {
			nodes := attacked(t, mode)
			b := newTab(t)
			b.operator()
			b.open(nodes[0].shown + "/")
			refused := map[bool]string{false: "are refused", true: "would be refused"}[mode != ""]
			b.until("the attacks are rows", `document.querySelectorAll("table.attacks tbody tr").length === 3`)
			for question, holds := range map[string]string{
				"who attacks now":       `["12 networks", "203.0.113.0/24", "9.9.9."].every(who => find(".attacks").includes(who)) && find("h1").startsWith("Three attacks go on")`,
				"what is refused":       `find("h1").includes("% of requests ` + refused + `")`,
				"must I act":            `/(nothing needs|one thing needs|things need) you/.test(find("h1"))`,
				"why this customer":     `document.querySelector('.find input[name=q]') !== null`,
				"unblock that network":  `document.querySelector('.attacks a[href="/network/203.0.113.0/24"], .attacks a[href^="/attacks/"]') !== null`,
				"is the threshold safe": `document.querySelector('.attacks a[href="/rules/search"]') !== null`,
				"for the whole fleet":   `document.querySelector('.attacks a[href="/rules/login"]') !== null`,
				"02:14 last night":      `document.querySelector('.timechart a[href*="from="]') !== null && document.querySelector('.timechart a[href*="last=24h"]') !== null`,
				"is all healthy":        `document.querySelector('nav.main a[href="/health"]') !== null && find(".condition").length > 10`,
				"who changed what":      `find(".happened").includes("root") && find(".happened").includes("198.51.100.64/26")`,
				"who is near":           `document.querySelector('a[href="/address/` + nearby + `"]') !== null`,
			} {
				if !eval[bool](b, `{ const find = what => document.querySelector(what)?.innerText ?? ""; `+holds+` }`) {
					t.Errorf("%s: %s", question, eval[string](b, `document.querySelector("main").innerText`))
				}
			}
			text := eval[string](b, `document.querySelector("main").innerText`)
			if mode != "" && strings.Contains(strings.NewReplacer("would be refused", "", "Would be refused", "", "would have refused", "", "nothing is refused", "").Replace(text), "refused") {
				t.Errorf("a word says that something is refused: %s", text)
			}
			axe := readAxe(t)
			for _, l := range []look{{width: 320, scheme: "light", forced: true}, {width: 768, scheme: "dark"}, {width: 1440, scheme: "light", forced: true}} {
				b.as(l)
				b.visit(nodes[0], "/")
				b.wrong("/", l)
				b.axe(axe, "/", l)
			}
			if mode == "" {
				shortWays(t, nodes[0])
			}
		})
	}
}

// shortWays goes by the Tab key to what a page is for: past the navigation, in at most six steps.
func shortWays(t *testing.T, n *node) {
	b := newTab(t)
	b.operator()
	for path, action := range map[string]string{
		"/unblock?prefix=9.9.9.9": "button.go", "/block?prefix=9.9.9.10": "input[name=reason], input[name=for], button.go", "/blocked/near": "main td.who a", "/": ".attacks a, .banner a",
		"/rules": "td.who a", "/changes": ".chip",
	} {
		b.as(look{width: 1440, scheme: "light"})
		b.visit(n, path)
		there := `document.activeElement?.matches(` + "`" + action + "`" + `) ?? false`
		steps := 0
		for ; steps <= 20 && !eval[bool](b, there); steps++ {
			b.do(chromedp.KeyEvent(kb.Tab))
			if steps == 0 {
				b.do(chromedp.KeyEvent(kb.Enter)) // it skips the navigation
			}
		}
		if steps > 6 {
			t.Errorf("%s: %d steps to what it is for", path, steps)
		}
	}
}
