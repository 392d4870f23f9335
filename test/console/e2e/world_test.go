package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// world is nodes in a state that an operator may find them in.
type world struct {
	name  string
	node  *node // the one that is looked at
	other *node // of the same fleet
	pages []string
}

// everywhere are the pages that every node has.
var everywhere = []string{"/", "/?from=2026-01-01T00:00:00Z&until=2026-01-01T01:00:00Z", "/welcome", "/blocked", "/blocked/near", "/rules", "/rules/site", "/allowed", "/blocked/held", "/changes", "/changes?kind=all", "/help", "/health", "/address/203.0.113.45", "/address/203.0.113.45?view=blocked", "/network/203.0.113.0/24", "/rules/site?threshold=100", "/rules/site/threshold?threshold=100", "/login"}

const (
	offender = "203.0.113.45" // blocked by the rule site
	guesser  = "203.0.113.77" // blocked by the rule login
	nearby   = "198.51.100.17"
	prober   = "198.51.100.23" // over the limit of a rule that only reports
	sixth    = "2001:db8:77::1"
	spread   = "203.0.113.130" // over the limit on no node alone
)

func empty(t *testing.T) *world {
	return &world{name: "empty", node: start(t, "edge-1", "rules: [{name: site, threshold: 200}]"), pages: append([]string{"/help?q=unblock", "/help/configuration"}, everywhere...)}
}

// install prepares a Redis for a fleet.
func install(t *testing.T, addr string) {
	t.Helper()
	if out, err := exec.Command(os.Getenv(program.Built), "fleet", "install", "--redis", "redis://"+addr).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// pair starts two nodes of a fleet, whose Redis is behind the proxies.
func pair(t *testing.T, more string) (one, two *node, redis *redistest.Proxy) {
	server := redistest.Start(t, redistest.Options{})
	install(t, server.Addr)
	redis = redistest.NewProxy(t, server.Addr)
	one = start(t, "edge-1", fmt.Sprintf("fleet: {redis: \"redis://%s\", namespace: e2e, max_nodes: 2}\n%s", redis.Addr, more))
	two = start(t, "edge-2", fmt.Sprintf("fleet: {redis: \"redis://%s\", namespace: e2e, max_nodes: 2}\n%s", server.Addr, rules))
	one.Until("the nodes know each other", func() bool {
		a, b := one.status().Fleet, two.status().Fleet
		return a.Up && b.Up && a.Alive == 2 && b.Alive == 2
	})
	return one, two, redis
}

// usual is a fleet of two with offenders of each kind, behind an nginx.
func usual(t *testing.T) *world {
	one, two, _ := pair(t, rules)
	offend(t, one, two)
	two.block("11.0.0.0/8", "too wide")
	one.Until("the wide block waits, and what is in force is added up", func() bool { return one.status().Fleet.Held > 0 && len(one.status().Elsewhere) > 0 })
	return &world{name: "usual", node: one, other: two, pages: append([]string{
		"/fleet", "/rules/login", "/rules/probing", "/changes?kind=block", "/blocked?rule=login", "/blocked?prefix=10.0.0.0/8", "/blocked?order=x", "/find?q=nothing",
		"/address/" + nearby, "/address/" + prober, "/address/" + sixth, "/block", "/block?prefix=100.64.0.1", "/unblock?prefix=" + offender, "/extend?prefix=" + offender, "/allow?prefix=" + offender,
		"/address/198.51.100.70", "/address/192.0.2.1", "/address/127.0.0.1", "/network/198.51.100.64/26",
		"/block?prefix=127.0.0.1", "/block?prefix=203.0.113.0/24", "/unblock?prefix=" + offender + "&prefix=" + guesser,
	}, everywhere...)}
}

func offend(t *testing.T, one, two *node) {
	front := site(t, one)
	ask(t, front, offender, "/x", limit+11)
	asked := strings.TrimSuffix(front, "/") + "/login"
	ask(t, asked, guesser, "/login", 40)
	ask(t, front, nearby, "/x", limit*9/10)
	one.ask(prober, "/wp-login.php", 60)
	two.ask(sixth, "/x", limit+5)
	for range 10 { // on each node half of what the limit allows
		one.ask(spread, "/x", limit/20+1)
		two.ask(spread, "/x", limit/20+1)
	}
	one.block("198.51.100.64/26", "abuse report")
	two.block("203.0.113.9", "scraper, ticket 4711")
	one.allow("198.51.100.128/25", "office")
	for _, n := range []*node{one, two} {
		n.blocked(offender, guesser, sixth, spread, "198.51.100.70", "203.0.113.9")
	}
}

// crowded has as much as fits: long names and notes, many rules, many blocks.
func crowded(t *testing.T) *world {
	var all strings.Builder
	all.WriteString("rules:\n")
	for i := range 12 {
		name := fmt.Sprintf("a-rule-with-the-longest-name-that-a-rule-can-have-which-is-%02d-xx", i)
		fmt.Fprintf(&all, "  - {name: %s, threshold: %d, candidates: [65000, 1000, 2000, 3000, 4000, 5000, 6000, 7000], match: {path: [/%d]}, wide: strict}\n", name[:64], 60000+i, i)
	}
	all.WriteString("  - {name: site, threshold: 65000, candidates: [1, 10, 100, 1000, 10000, 20000, 30000, 40000, 50000]}\n  - {name: agents, threshold: 20, key: {with: [path]}, action: shadow}\n")
	n := start(t, strings.Repeat("n", 60), all.String())
	note := strings.Repeat("a note without an end ", 11)
	for i := range 60 {
		n.block(fmt.Sprintf("2001:db8:ffff:ffff:%x:ffff:ffff:%x", 0xf000+i, 0xf000+i), note)
		n.block(fmt.Sprintf("203.0.113.%d", i), strings.Repeat("x", 250))
	}
	for i := range 20 {
		n.allow(fmt.Sprintf("2001:db8:eeee:ffff:%x:ffff:ffff:ffff", 0xf000+i), note)
	}
	for i := range 30 {
		n.ask(fmt.Sprintf("2001:db8:dddd:%x::1", 0xf000+i), "/3", 40+i)
	}
	return &world{name: "full", node: n, pages: append([]string{
		"/blocked?order=prefix", "/address/2001:db8:ffff:ffff:f000:ffff:ffff:f000", "/address/2001:db8:dddd:f000::1", "/network/2001:db8:ffff:ffff::/64", "/rules/agents",
	}, everywhere...)}
}

// degraded is cut off from its fleet, and a list of it is not taken.
func degraded(t *testing.T) *world {
	one, two, redis := pair(t, rules+"enforce: {files: [{file: $DIR/list.txt, format: plain, reload: [/bin/false]}]}\n")
	two.block(offender, "scraper")
	one.blocked(offender)
	redis.Set(redistest.Fault{Refuse: true})
	redis.Cut()
	one.Until("it says what is wrong", func() bool {
		s := one.status()
		return !s.Fleet.Up && s.Enforcers[0].Failing > 0 && len(s.Alarms()) > 0
	})
	return &world{name: "degraded", node: one, other: two, pages: append([]string{"/fleet"}, everywhere...)}
}

func monitor(t *testing.T) *world {
	n := start(t, "edge-1", "mode: monitor\n"+rules)
	n.ask(offender, "/x", limit+11)
	n.ask(nearby, "/x", limit*9/10)
	n.blocked(offender)
	return &world{name: "monitor", node: n, pages: append([]string{"/address/" + nearby}, everywhere...)}
}

// listed is in the list of the neighbours, and its network in the one that awaits
// confirmation.
const listed = "192.0.9.9"

// neighbours is beside lists of others of which one awaits confirmation and one is an error
// page, a list that is not taken, bouncers that never pull, and a receiver that is gone.
func neighbours(t *testing.T) *world {
	n := prepare(t, "edge-1", rules+`
blocklists:
  - {name: good, file: $DIR/good.txt}
  - {name: a-name-as-long-as-names-may-be-x, file: $DIR/other.txt}
  - {name: waits, file: $DIR/waits.txt, most: 1}
  - {name: page, file: $DIR/page.html}
enforce: {files: [{file: $DIR/list.txt, format: plain, reload: [/bin/false]}]}
crowdsec: {lapi: {listen: "`+program.Address(t)+`"}}
notify: {webhooks: [{name: chat, url: "http://`+program.Address(t)+`/"}]}
`)
	for name, text := range map[string]string{"good.txt": listed + "\n5.5.5.5/32\n10.0.0.1\nno address\n", "other.txt": "9.9.9.9\n", "waits.txt": "45.1.2.0/24\n45.1.9.9\n", "page.html": "<!doctype html><title>" + strings.Repeat("x", 200) + "</title>\n"} {
		if err := os.WriteFile(n.Path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n.launch()
	if _, err := n.admin.AddBouncer(t.Context(), admin.BouncerRequest{Name: "fw"}); err != nil {
		t.Fatal(err)
	}
	n.Until("the lists are read, and the receiver is missed", func() bool {
		s := n.status()
		held, state := map[string]int{}, map[string]string{}
		for _, f := range s.Imports.Feeds {
			held[f.Name], state[f.Name] = f.InForce, f.State
		}
		return held["good"] == 2 && state["waits"] == admin.ImportWaiting && state["page"] == admin.ImportFailing && s.Enforcers[0].Failing > 0 && s.Notified[0].Error != "" && len(s.Elsewhere) >= 2
	})
	return &world{name: "neighbours", node: n, pages: append([]string{"/neighbours", "/address/" + listed, "/network/192.0.0.0/16", "/blocked?rule=owner+good", "/block?prefix=" + listed, "/allow?prefix=" + listed}, everywhere...)}
}

// A list that awaits confirmation is confirmed by a button, and its blocks are found by the
// search, with what can be done.
func TestNeighbours(t *testing.T) {
	w := neighbours(t)
	layout(t, w)
	b := newTab(t)
	b.logIn(w.node, "/neighbours")
	b.click(`main form[action="/neighbours"] button`)
	b.until("it is confirmed", `document.readyState === "complete" && document.querySelector("main").innerText.includes("The newest list of waits is in force.")`)
	if text := w.node.audit(); !strings.Contains(text, "confirm import") {
		t.Errorf("the audit lacks it: %s", text)
	}
	b.open(w.node.shown + "/blocked?rule=owner+good")
	b.until("it is live", `document.querySelector("main").innerText.includes("Live, ")`)
	if eval[bool](b, `document.querySelector("tr.ended") !== null || document.querySelectorAll("table.blocks tbody tr").length !== 2`) {
		t.Errorf("imported blocks are shown as ended: %s", eval[string](b, `document.querySelector("main").innerText`))
	}
	b.open(w.node.shown + "/find?q=45.1.2.7")
	b.until("the address is there", `location.pathname === "/address/45.1.2.7" && document.querySelector(".sentence") !== null`)
	for _, want := range []string{"Blocked by the imported list waits", "It is inside 45.1.2.0/24", "cannot be unblocked here", "allow it"} {
		if got := eval[string](b, `document.querySelector(".sentence").innerText`); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if eval[bool](b, `document.querySelector('main a[href^="/unblock"]') !== null`) {
		t.Error("to unblock it is offered")
	}
}

// worlds are the states, each started when a test comes to it. TestUsual looks at
// the usual one.
var worlds = map[string]func(*testing.T) *world{"empty": empty, "full": crowded, "degraded": degraded, "monitor": monitor}

// A fleet is looked at first, and then changed.
func TestUsual(t *testing.T) {
	w := usual(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *world)
	}{
		{"layout", layout}, {"tab key", tabKey}, {"zoom and forced colours", zoomed}, {"sentences", sentences}, {"unblock sticks", unblockSticks}, {"without scripts", withoutScripts}, {"shoot oneself", shootOneself},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, w) })
	}
}

// answersNotFound reports whether a page is one that is meant to be missing: the
// browser logs its status.
func answersNotFound(n *node, path string) bool {
	answer, err := asker.Get(n.base + path)
	if err != nil {
		n.t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusNotFound
}
