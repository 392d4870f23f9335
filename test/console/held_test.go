package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// pair starts two nodes of a fleet without a key.
func pair(t *testing.T) (a, b *ownNode) {
	t.Helper()
	return pairOf(t, "")
}

// pairOf starts the same two; extra is of the first one's config.
func pairOf(t *testing.T, extra string) (a, b *ownNode) {
	t.Helper()
	server := redistest.Start(t, redistest.Options{})
	if _, err := redis.Install(t.Context(), server.Client()); err != nil {
		t.Fatal(err)
	}
	more := fmt.Sprintf("fleet: {redis: \"redis://%s\", namespace: test, push: 100ms, max_nodes: 2}\n", server.Addr)
	a, b = startAs(t, "edge-1", more+extra), startAs(t, "edge-2", more)
	for _, n := range []*ownNode{a, b} {
		n.Until("it knows the other node", func() bool {
			s, err := n.admin.Status(t.Context())
			return err == nil && s.Fleet != nil && s.Fleet.Up && s.Fleet.Alive == 2
		})
	}
	return a, b
}

// holds reports whether the node waits with a record of exactly the prefix.
func (n *ownNode) holds(prefix string) bool {
	n.t.Helper()
	for h, err := range n.admin.Held(n.t.Context()) {
		if err != nil {
			n.t.Fatal(err)
		}
		if h.Prefix.String() == prefix {
			return true
		}
	}
	return false
}

// blocks reports whether a prefix is blocked on the node.
func (n *ownNode) blocks(prefix string) bool {
	n.t.Helper()
	return strings.Contains(n.get("/api/v1/blocks?limit=1000", true).body, `"`+prefix+`"`)
}

// What is in force on another node's word, and how much of it waits, is a table of its own.
func TestElsewhere(t *testing.T) {
	a, b := pair(t)
	for prefix, force := range map[string]bool{"198.51.100.9/32": false, "198.51.100.10/32": false, "11.16.0.0/12": true} {
		if _, err := b.admin.Block(t.Context(), admin.BlockRequest{Prefix: prefix, For: "2h", Reason: "abuse", Force: force}); err != nil {
			t.Fatal(err)
		}
	}
	a.Until("the figures say so", func() bool {
		s, err := a.admin.Status(t.Context())
		return err == nil && len(s.Elsewhere) == 1 && s.Elsewhere[0].Records == 2 && s.Elsewhere[0].Held == 1
	})
	a.has("/blocked/held", "In force on the word of others", "other nodes, unsigned", "2 blocks", "refuse 0 %", `waiting </span>1</td>`)
	if strings.Contains(b.get("/blocked/held", false).body, "word of others") {
		t.Error("the node that made them says that others did")
	}
}

// What another node sent and this one waits with is confirmed by a page, and then
// refused here too; or withdrawn by one, and then passes on both.
func TestHeldByAPage(t *testing.T) {
	a, b := pair(t)
	const meant, mistake = "11.16.0.0/12", "11.32.0.0/12" // unsigned, forced and wide
	// The page of the other node says so before the block is made, and asks.
	form := b.get("/block?prefix="+url.QueryEscape(meant), true)
	if text := visible(form.body); !strings.Contains(text, "it waits on each of the other nodes until an operator confirms it there") {
		t.Errorf("%s", text)
	}
	if p := b.submit("/block", formOf(form), url.Values{"reason": {"a whole network"}, "meant": {"yes"}}); p.status != http.StatusOK || !strings.Contains(p.body, meant+" is blocked until") {
		t.Fatalf("%d\n%s", p.status, p.body)
	}
	if _, err := b.admin.Block(t.Context(), admin.BlockRequest{Prefix: mistake, For: "2h", Reason: "mistyped", Force: true}); err != nil {
		t.Fatal(err)
	}
	a.Until("both wait", func() bool { return a.holds(meant) && a.holds(mistake) })
	a.Until("every page says so", func() bool { return strings.Contains(visible(a.get("/blocked", false).body), "2 blocks by edge-2") })
	a.has("/blocked/held", meant, mistake, "edge-2", "a whole network")
	if a.refuses("11.17.0.1") || a.refuses("11.33.0.1") || !b.refuses("11.17.0.1") || !b.refuses("11.33.0.1") {
		t.Fatal("what waits is in force, or not on the node that made it")
	}

	if p := a.act("confirm", meant, nil); p.status != http.StatusOK || !strings.Contains(p.body, "The block of "+meant+" is in force") {
		t.Fatalf("%d\n%s", p.status, p.body)
	}
	if a.holds(meant) || !a.refuses("11.17.0.1") {
		t.Error("it is confirmed, and still waits")
	}
	if p := a.act("withdraw", mistake, note("it is a customer")); p.status != http.StatusOK || !strings.Contains(p.body, "The block of "+mistake+" is withdrawn") {
		t.Fatalf("%d\n%s", p.status, p.body)
	}
	if a.holds(mistake) || a.refuses("11.33.0.1") {
		t.Error("it is withdrawn, and still there")
	}
	// The withdrawal is as wide as the block, and unsigned: it ends a block there, so it
	// does not wait.
	b.Until("the node that made it lets it pass", func() bool { return !b.blocks(mistake) })
	if !b.refuses("11.17.0.1") || b.refuses("11.33.0.1") {
		t.Error("on the node that made both, the confirmed one has to stay and the other to pass")
	}
	var done []string
	for _, one := range a.audit() {
		done = append(done, one.Action+" "+one.Target+" "+one.Result)
	}
	for _, want := range []string{"confirm " + meant + " ok", "unblock " + mistake + " ok"} {
		if !slices.Contains(done, want) {
			t.Errorf("the audit lacks %q: %q", want, done)
		}
	}
	if p := a.get("/withdraw?prefix="+url.QueryEscape(mistake), true); p.status != http.StatusNotFound || !strings.Contains(p.body, "does not await confirmation") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
}
