package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/internal/program"
)

// rule returns a rule as the API has it.
func (n *node) rule(name string) admin.Rule {
	n.t.Helper()
	all, err := n.admin.Rules(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	i := slices.IndexFunc(all.Rules, func(r admin.Rule) bool { return r.Name == name })
	if i < 0 {
		n.t.Fatalf("there is no rule %s: %+v", name, all)
	}
	return all.Rules[i]
}

// command runs a command beside the node, and returns what it prints.
func (n *node) command(arguments ...string) string {
	n.t.Helper()
	out, err := exec.CommandContext(n.t.Context(), os.Getenv(program.Built), arguments...).CombinedOutput()
	if err != nil {
		n.t.Fatalf("edgeguard %q: %v\n%s", arguments, err, out)
	}
	return string(out)
}

// tries types a threshold into the form of a rule's page.
func (b *tab) tries(threshold string) {
	b.t.Helper()
	const field = `form.try input[name=threshold]`
	eval[bool](b, `document.querySelector("`+field+`").value = "", true`)
	b.typed(field, threshold+"\r")
	b.until("the threshold is tried", `location.search === "?threshold=`+threshold+`" && document.readyState === "complete"`)
}

// says waits until the page has a text.
func (b *tab) says(text string) {
	b.t.Helper()
	quoted, _ := json.Marshal(text)
	b.until("the page says "+text, `document.readyState === "complete" && document.querySelector("main")?.innerText.includes(`+string(quoted)+`)`)
}

// A threshold that is applied by the page is in force for the next request, with all
// that was counted before. It outlives a kill, a tab that knew the one before
// changes nothing, and Undo brings the config's back.
func TestApply(t *testing.T) {
	n := start(t, "edge-1", "rules: [{name: site, threshold: 2000}]")
	const sent = 790
	for i := range 16 { // what would be refused is little beside it
		n.ask(fmt.Sprintf("198.51.100.%d", 100+i), "/x", 300)
	}
	if refused := n.ask(nearby, "/x", sent); refused != 0 {
		t.Fatalf("%d are refused under the limit of 1,900", refused)
	}
	b := newTab(t)
	b.logIn(n, "/rules/site")
	other := b.another()
	other.open(n.shown + "/rules/site/threshold?threshold=700")

	b.tries("800")
	b.click(`a[href="/rules/site/threshold?threshold=800"]`)
	b.says("Limit of site on edge-1: 1,900 → 760 requests. 1 address that is not blocked now would be blocked by its next request: " + nearby)
	b.typed(`form.act input[name=note]`, "a quiet day")
	b.click("form.act button.go")
	b.says("The threshold of site is 800, its limit 760 requests.")
	b.says("the config has 2,000")
	axe := readAxe(t)
	b.looked(axe)
	if n.ask(nearby, "/x", 1) != 1 {
		t.Error("the next request of an address over the limit passes")
	}
	n.blocked(nearby)
	if made := n.explain(nearby).Block; made.Count != sent+1 || made.Limit != 760 {
		t.Errorf("it was blocked with %d of %d, and had sent %d", made.Count, made.Limit, sent+1)
	}

	other.expects("409", n.shown+"/rules/site/threshold")
	other.click("form.act button.go")
	other.says("is 800 and not 2000: changed at ")
	other.looked(axe)
	if r := n.rule("site"); r.Threshold != 800 {
		t.Fatalf("a tab that did not know it has changed it: %+v", r)
	}

	const changed = "rule site: threshold 800 instead of 2000"
	for _, arguments := range [][]string{{"check", "--config", n.Path("config.yaml")}, {"rules", "changed", "--admin", "unix:" + n.Path("admin.sock")}} {
		if said := n.command(arguments...); !strings.Contains(said, changed) || !strings.Contains(said, "a quiet day") {
			t.Errorf("edgeguard %q: %s", arguments, said)
		}
	}
	b.expects("ERR_", "Failed to load") // open pages lose their streams
	other.expects("ERR_", "Failed to load")
	n.Kill()
	n.launch()
	if r := n.rule("site"); r.Threshold != 800 || r.Limit != 760 {
		t.Errorf("after a kill: %+v", r)
	}
	if refused := n.ask("198.51.100.40", "/x", 770); refused != 10 {
		t.Errorf("after a kill %d of 770 are refused, and the limit is 760", refused)
	}
	b.logIn(n, "/rules/site") // sessions end with the node
	b.says("Threshold 800 since ")
	b.click(`form[action="/rules/site/overlay"] button`)
	b.says("The threshold of site is 2,000 again, as the config has it.")
	if r := n.rule("site"); r.Threshold != 2000 || r.Overlay != nil {
		t.Errorf("after the undo: %+v", r)
	}
	if refused := n.ask("198.51.100.41", "/x", 770); refused != 0 {
		t.Errorf("after the undo %d of 770 are refused", refused)
	}
}

// A threshold that is tried beside the live limit counts what a replay of the same
// log finds with it, and refuses nobody.
func TestCandidate(t *testing.T) {
	const clients, live, tried, limit = 80, 2000, 800, 760
	n, log := follow(t, "edge-1", fmt.Sprintf("rules: [{name: site, threshold: %d}]", live))
	b := newTab(t)
	b.logIn(n, "/rules/site")
	b.tries(fmt.Sprint(tried))
	b.click(`form[action="/rules/site/candidates"] button`)
	b.says("800 is counted beside the live limit from now on. It refuses nobody.")
	b.says("counted beside the live limit: 0 crossings")
	if eval[bool](b, `document.querySelector(".acts form button.go") !== null`) {
		t.Error("what is a candidate is offered as one")
	}
	b.looked(readAxe(t))

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	begin := time.Now().Add(-205 * time.Second)
	var written uint64
	var text bytes.Buffer
	for second := range 200 {
		for i := range clients { // the last ones are far oftener there; some are over the live limit, too
			for range random.IntN(1 + i*i/300) {
				text.WriteString(line(fmt.Sprintf("203.0.113.%d", i), begin.Add(time.Duration(second)*time.Second), "/x"))
				written++
			}
		}
	}
	if _, err := log.Write(text.Bytes()); err != nil {
		t.Fatal(err)
	}
	n.Until("all lines are counted", func() bool { return n.status().Events.Decided >= written })

	var summary struct {
		Type   string `json:"type"`
		Blocks uint64 `json:"blocks"`
	}
	lines := strings.Split(strings.TrimSpace(n.command("replay", "--threshold", fmt.Sprint(tried), "--json", n.Path("access.log"))), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &summary); err != nil || summary.Type != "summary" {
		t.Fatalf("%v: %s", err, lines[len(lines)-1])
	}
	c := n.rule("site").Candidates
	if len(c) != 1 || c[0].Limit != limit || c[0].Crossings != summary.Blocks || summary.Blocks < clients/8 || summary.Blocks > clients*7/8 {
		t.Errorf("the candidate says %+v, a replay finds %d", c, summary.Blocks)
	}
	b.open(n.shown + "/rules/site")
	b.says(fmt.Sprintf("limit %d requests\n%d crossings", limit, summary.Blocks))
	if live := n.status().V4; live == 0 || uint64(live) >= summary.Blocks {
		t.Errorf("%d are blocked by the live limit", live)
	}
}
