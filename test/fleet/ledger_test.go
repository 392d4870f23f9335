package fleet

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
	"edgeguard/internal/redistest"
)

// elsewhere returns what the node says of one source's blocks.
func (n *guardedNode) elsewhere(source string) (one admin.Elsewhere) {
	n.g.t.Helper()
	s, err := n.admin.Status(background)
	if err != nil {
		n.g.t.Fatal(err)
	}
	for _, e := range s.Elsewhere {
		if e.Source == source && e.Kind == "block" {
			one = e
		}
	}
	return one
}

// What other nodes' blocks have used of a node's budget is used after a restart: a thief
// does not have the whole of confirm_share again because a node was upgraded at night.
func TestChargesOverARestart(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	// A node keeps 256 addresses of a crowd within five seconds: the standard error of what
	// each half refuses is three hundredths. One fits by six of them, both do not by four.
	g := startGuardedWith(t, noKey, "confirm_share: 0.53, ", func(n *guardedNode) { n.crowdOf(crowd) })
	th, n := g.thief(), g.nodes[0]
	byRule := func(r *aggregator.Record) { r.Block.Rule, r.Forced = "site", false }
	const each = 224. / crowd // of the requests are a network's: one in eight is of IPv6
	networks := func(from, to int) (all []netip.Prefix) {
		for i := from; i < to; i++ {
			all = append(all, netip.MustParsePrefix(fmt.Sprintf("198.18.%d.0/24", i)))
		}
		return all
	}
	blocksAll := func(n *guardedNode, all []netip.Prefix) bool {
		return !slices.ContainsFunc(all, func(one netip.Prefix) bool { return !n.blocks(one) })
	}
	before, after := networks(1, 20), networks(20, 39)
	g.read() // meanwhile each node has a sample that knows all of its crowd
	th.writes(before, byRule)
	for _, n := range g.nodes {
		n.Until(n.name+" blocks all", func() bool { return blocksAll(n, before) })
	}
	n.Stop()
	n.Launch()
	n.joined()
	n.crowdOf(crowd)
	g.read()
	th.writes(after, byRule)
	g.read()
	n.Until("the status has been taken", func() bool { return n.elsewhere("nodes_unsigned").Records > 0 })
	if blocksAll(n, after) {
		t.Errorf("more than confirm_share is refused after a restart: %+v", n.elsewhere("nodes_unsigned"))
	}
	if !blocksAll(n, before) {
		t.Error("what was in force is not")
	}
	n.Until("what waits is said", func() bool { return n.elsewhere("nodes_unsigned").Held > 0 })
	e := n.elsewhere("nodes_unsigned")
	truth := float64(e.Records) * each
	if e.IPv4 != uint64(e.Records)*256 || math.Abs(e.Share-truth) > 5*math.Sqrt(truth*(1-truth)/256) {
		t.Errorf("%+v, of the requests %.3f are theirs", e, truth)
	}
}

// crowdOf has the node see a crowd, of which some may be refused.
func (n *guardedNode) crowdOf(clients int) {
	n.g.t.Helper()
	a := n.open()
	defer a.conn.Close()
	if _, err := a.crowd(clients); err != nil {
		n.g.t.Fatal(err)
	}
}

// BenchmarkEmergency measures from an operator's forced /16, on one of fifty nodes with a
// key, to the moment when all fifty refuse it: most of their requests came from it.
func BenchmarkEmergency(b *testing.B) {
	const nodes, rounds = 50, 20
	f := newFleet(b, settings{Nodes: nodes, MaxNodes: nodes, Quiet: true, Limit: 60_000, Window: 5 * time.Minute, Clients: 4000, Key: true}, redistest.Start(b, redistest.Options{}))
	f.start()
	var clients []int
	for k := range 4000 {
		clients = append(clients, k)
	}
	for _, n := range f.nodes {
		n.see(clients)
	}
	emergency := netip.MustParsePrefix("198.18.0.0/16")
	everywhere := func(blocked bool) func() bool {
		return func() bool {
			return !slices.ContainsFunc(f.nodes, func(n *node) bool { return n.refuses(emergency.Addr().Next()) != blocked })
		}
	}
	for range b.N {
		var took []time.Duration
		for round := range rounds {
			by := f.nodes[round*7%nodes]
			begun := time.Now()
			if _, err := by.list.Force(manualOf(emergency, by), by.now()); err != nil {
				b.Fatal(err)
			}
			f.eventually("every node to refuse it", everywhere(true))
			arrivals := f.arrivals(emergency, begun)
			took = append(took, arrivals[len(arrivals)-1])
			by.list.Lift(emergency, by.now(), "over", by.name)
			f.eventually("every node to let it in", everywhere(false))
		}
		slices.Sort(took)
		fmt.Printf("%s: p50 %v, most %v of %d\n", b.Name(), quantile(took, 0.5).Round(time.Millisecond), took[rounds-1].Round(time.Millisecond), rounds)
		figure(b, "from a forced /16 to the last of fifty nodes, the slowest", float64(took[rounds-1].Milliseconds()), "most-ms", 1000)
	}
	f.end()
}

// BenchmarkLongList measures how long it takes until five nodes have the 100,000 blocks that
// an operator of one of them made, and a sixth that then joins has read them.
func BenchmarkLongList(b *testing.B) {
	const nodes, blocks = 6, 100_000
	f := newFleet(b, settings{Nodes: nodes, Quiet: true, Limit: 60_000, Window: 5 * time.Minute, Clients: 4000, Key: true, Timeout: time.Minute}, redistest.Start(b, redistest.Options{}))
	joined, late := f.nodes[:nodes-1], f.nodes[nodes-1]
	f.nodes = joined
	f.start()
	for _, n := range joined {
		for k := range 4000 {
			n.see([]int{k})
		}
	}
	for range b.N {
		begun := time.Now()
		for i := range blocks {
			p := netip.PrefixFrom(netip.AddrFrom4([4]byte{101, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
			if _, err := joined[0].list.Force(manualOf(p, joined[0]), joined[0].now()); err != nil {
				b.Fatal(err)
			}
		}
		f.eventually("all have them", func() bool {
			return !slices.ContainsFunc(joined, func(n *node) bool { return n.list.Len() < blocks })
		})
		b.ReportMetric(time.Since(begun).Seconds(), "s-to-all")
		begun = time.Now()
		f.nodes = append(f.nodes, late)
		late.start()
		f.eventually("the sixth has them", func() bool { return late.list.Len() >= blocks })
		b.ReportMetric(time.Since(begun).Seconds(), "s-to-join")
		if w := late.list.Elsewhere()[blocklist.Source{Kind: blocklist.Signed}]; w.Records != blocks || w.Width.V4 != blocks || late.quarantine.Stats().Held != 0 {
			b.Errorf("%+v, %+v", w, late.quarantine.Stats())
		}
	}
	f.end()
}

// Who has a node's password, and not the key, keeps no node in accept from what the others
// block: however much of the budget he has used, and however much of his waits.
func TestThiefStarvesNothingSigned(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, accept)
	var all []netip.Prefix
	for i := range 12 {
		all = append(all, netip.MustParsePrefix(fmt.Sprintf("198.18.%d.0/24", i)))
	}
	g.thief().writes(all, func(r *aggregator.Record) { r.Block.Rule, r.Forced = "site", false })
	g.read()
	for _, n := range g.nodes {
		n.Until(n.name+" has some in force, and others wait", func() bool {
			e := n.elsewhere("nodes_unsigned")
			return e.Records > 0 && e.Held > 0
		})
	}
	for _, p := range []netip.Prefix{netip.MustParsePrefix("203.0.113.9/32"), netip.MustParsePrefix("101.0.0.0/20"), prefix(0)} {
		if _, err := g.nodes[0].admin.Block(background, admin.BlockRequest{Prefix: p.String(), Reason: "by hand"}); err != nil {
			t.Fatal(err)
		}
		g.all(p, true)
	}
}
