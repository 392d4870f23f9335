package fleet

import (
	"fmt"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/aggregator"
)

// rule returns the fleet's rule as a node has it; the zero value where it does not
// answer.
func (n *guardedNode) rule() (r admin.Rule) {
	if list, err := n.admin.Rules(background); err == nil && len(list.Rules) > 0 {
		r = list.Rules[0]
	}
	return r
}

// threshold waits until a threshold is in force on all nodes.
func (g *guarded) threshold(want uint32) {
	g.t.Helper()
	for _, n := range g.nodes {
		n.Until(fmt.Sprintf("%s has threshold %d", n.name, want), func() bool { return n.rule().Threshold == want })
	}
}

// Who can write to Redis and has no key neither sets a threshold for the fleet nor undoes
// one: by deleting it, by an old record, by records of his own. A node that was killed
// has it when it is back, before it has asked Redis.
func TestWhoSetsThresholds(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, require)
	th, key := g.thief(), blocksKey("thresholds")
	set := func(from, to uint32) string {
		t.Helper()
		if _, err := g.nodes[0].admin.SetThreshold(background, guardedRule.Name, admin.ThresholdRequest{Threshold: to, IfThreshold: from, Scope: admin.ScopeFleet}); err != nil {
			t.Fatal(err)
		}
		g.threshold(to)
		return th.client.HGet(background, key, guardedRule.Name).Val()
	}
	old := set(guardedLimit, 2*guardedLimit)
	good := set(2*guardedLimit, 3*guardedLimit)
	other, err := aggregator.ParseSigningKeys(strings.Repeat("b7", 32))
	if err != nil {
		t.Fatal(err)
	}
	record := strings.Replace(good[aggregator.MACSize:], fmt.Sprint(3*guardedLimit), "60000", 1)
	for what, value := range map[string]string{
		"an old record": old, "no MAC": record, "the MAC of another record": good[:aggregator.MACSize] + record,
		"a MAC of his own": other.Threshold(namespace, guardedRule.Name, record), "nothing": "", "much": strings.Repeat("x", 1<<20-1),
	} {
		if value == "" {
			th.client.Del(background, key)
		} else {
			th.client.HSet(background, key, guardedRule.Name, value)
		}
		g.nodes[0].Until("Redis has the record again after "+what, func() bool { return th.client.HGet(background, key, guardedRule.Name).Val() == good })
		for _, n := range g.nodes {
			if r := n.rule(); r.Threshold != 3*guardedLimit || r.Fleet == nil || !r.Fleet.InForce {
				t.Errorf("%s, %s has threshold %d, %+v", what, n.name, r.Threshold, r.Fleet)
			}
		}
	}
	killed := g.nodes[1]
	killed.Kill()
	killed.Launch()
	killed.Until("it answers", func() bool { return killed.rule().Name != "" })
	if got := killed.rule().Threshold; got != 3*guardedLimit {
		t.Errorf("after a kill the threshold is %d, want %d", got, 3*guardedLimit)
	}
	killed.joined()
	if _, err := killed.admin.EndFleet(background, guardedRule.Name, false); err != nil {
		t.Fatal(err)
	}
	g.threshold(guardedLimit)
}
