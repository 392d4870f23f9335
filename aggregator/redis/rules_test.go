package redis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
)

// ruled is a node with rules of its own, on the Redis of a crew.
type ruled struct {
	rulesExchange
	facts fleet.RuleFacts
}

// Two nodes whose rules have the same names and are not the same say so after two minutes, with rules and
// nodes; nothing is in Redis before, and nobody asks once all is known. An operator's threshold is no fault.
func TestRulesAreCompared(t *testing.T) {
	c := newCrew(t, &fleet.Authority{}, &fleet.Authority{})
	site := func(limit, base uint32) []fleet.RuleFact {
		return []fleet.RuleFact{{Name: "site", Meter: "m1", Limit: limit, Base: base, Action: "block"}, {Name: "login", Meter: "m2", Limit: 5, Action: "deny"}}
	}
	nodes := []*ruled{{facts: fleet.RuleFacts{Digest: "000000000000000a", Rules: site(190, 0)}}, {facts: fleet.RuleFacts{Digest: "000000000000000b", Rules: site(19, 0)}}}
	key := newNames(namespace, 1).rules
	for _, n := range nodes {
		n.rulesExchange = rulesExchange{Compared: fleet.NewComparison(func() fleet.RuleFacts { return n.facts }), Client: c.client(), Key: key, Timeout: 20 * time.Second}
	}
	turns := func(n int, step time.Duration) {
		t.Helper()
		for range n {
			c.now = c.now.Add(step)
			var alive []aggregator.Heartbeat
			for i, one := range nodes {
				alive = append(alive, aggregator.Heartbeat{Node: figuresNames[i], Boot: boot, Rules: one.facts.Digest, Compares: one.Compared.Compares()})
			}
			for i, one := range nodes {
				if err := one.ExchangeRules(context.Background(), &figuresTurn{Now: c.now, Node: figuresNames[i], Alive: alive, Judge: c.judges[i]}, one.facts.Digest); err != nil && !errors.Is(err, errFiguresLarge) { // what somebody else wrote is deleted
					t.Fatal(err)
				}
			}
		}
	}
	written := func() int64 { return c.client().Exists(t.Context(), key).Val() }
	turns(59, 2*time.Second)
	if written() != 0 || nodes[0].Compared.Differ() != nil {
		t.Fatal("compared before two minutes are over")
	}
	turns(20, 2*time.Second)
	want := []fleet.Differing{{Node: "edge-b", Rules: []string{"site: limit 19 there, 190 here"}, Wrong: true}}
	if got := nodes[0].Compared.Differ(); len(got) != 1 || got[0].Node != "edge-b" || !got[0].Wrong || !slices.Equal(got[0].Rules, want[0].Rules) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if nodes[0].Compared.Compares() || !nodes[0].Compared.Alike("site", nodes[1].facts.Digest) || nodes[0].Compared.Alike("gone", nodes[1].facts.Digest) {
		t.Error("it still asks, or does not know that both count alike")
	}
	f := Fleet{Nodes: []NodeStatus{{Alive: true, Heartbeat: aggregator.Heartbeat{Node: "edge-a", Rules: nodes[0].facts.Digest}}, {Alive: true, Heartbeat: aggregator.Heartbeat{Node: "edge-b", Rules: nodes[1].facts.Digest}}}}
	f.compareRules(t.Context(), c.client(), key)
	if len(f.Faults) != 1 || !strings.Contains(f.Faults[0], "edge-a (here) and edge-b (there)") || !strings.Contains(f.Faults[0], "site: limit 19 there, 190 here") {
		t.Errorf("fleet status: %q", f.Faults)
	}
	if err := c.client().Del(t.Context(), key).Err(); err != nil { // an emptied Redis, or an hour
		t.Fatal(err)
	}
	turns(300, 2*time.Second)
	f.Faults = nil
	if f.compareRules(t.Context(), c.client(), key); len(f.Faults) != 1 {
		t.Errorf("fleet status, ten minutes after Redis was emptied: %q", f.Faults)
	}
	nodes[1].facts = fleet.RuleFacts{Digest: "000000000000000c", Rules: site(19, 190)}
	turns(80, 2*time.Second)
	if got := nodes[0].Compared.Differ(); len(got) != 1 || got[0].Wrong || len(got[0].Rules) != 1 {
		t.Errorf("an operator's threshold: %+v", got)
	}
	nodes[1].facts = nodes[0].facts
	turns(1, 2*time.Second)
	if got := nodes[0].Compared.Differ(); got != nil {
		t.Errorf("equal again: %+v", got)
	}
	if err := c.client().HSet(t.Context(), key, "edge-b", strings.Repeat("x", fleet.MostRuleFacts+1)).Err(); err != nil {
		t.Fatal(err)
	}
	nodes[1].facts = fleet.RuleFacts{Digest: "000000000000000d", Rules: site(1, 0)}
	turns(80, 2*time.Second)
	if got := nodes[0].Compared.Differ(); len(got) != 1 || !got[0].Wrong {
		t.Errorf("beside what somebody else wrote: %+v", got)
	}
}

// Of nodes with the same rules, the first by name repeats what they do.
func TestOneNodeRepeatsTheRules(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	beat := func(node, rules string) aggregator.Heartbeat { return aggregator.Heartbeat{Node: node, Rules: rules} }
	alive := []aggregator.Heartbeat{beat("edge-a", "a"), beat("edge-b", "a"), beat("edge-c", "c")}
	for _, h := range alive {
		c := fleet.NewComparison(func() fleet.RuleFacts { return fleet.RuleFacts{Digest: h.Rules} })
		c.Follow(now, h.Node, h.Rules, alive)
		c.Follow(now.Add(time.Hour), h.Node, h.Rules, alive)
		if _, due := c.RulesToWrite(now.Add(time.Hour), h.Node, alive); due != (h.Node != "edge-b") {
			t.Errorf("%s: %t", h.Node, due)
		}
		if _, due := c.RulesToWrite(now.Add(time.Hour+time.Minute), h.Node, alive); due {
			t.Errorf("%s: again after a minute", h.Node)
		}
	}
}
