package fleetmodel

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/ring"
	"edgeguard/rules"
	"edgeguard/shard"
)

// visitor is a client of a fleet of detectors with one rule, in virtual time.
type visitor struct {
	*Fleet
	rule      *rules.Rule
	detectors map[*Node]*detector.Detector
	lists     map[*Node]*blocklist.List
	sent      map[*Node]map[uint32]uint32 // requests by node and by its local slot
	blocks    int                         // that were made
}

func newVisitor(t *testing.T, spec rules.Spec, nodes int, seed uint64) *visitor {
	t.Helper()
	set, problems := rules.Compile([]rules.Spec{spec})
	if problems != nil {
		t.Fatal(problems)
	}
	v := &visitor{rule: &set.Rules[0], detectors: make(map[*Node]*detector.Detector), lists: make(map[*Node]*blocklist.List), sent: make(map[*Node]map[uint32]uint32)}
	meter := aggregator.Meter{Fingerprint: 7, Width: set.Meters[0].Width, Limit: v.rule.Limit, Renews: v.rule.Limit}
	rnd := rand.New(rand.NewPCG(seed, 11))
	v.Fleet = New(Config{Quiet: true, MaxNodes: nodes, Share: 0.1, Seed: seed, Meters: []aggregator.Meter{meter}, Over: v.over,
		Settled: func(n *Node, k aggregator.Key) bool {
			return v.detectors[n].Settled(v.Local(n), 0, k.Prefix, 0, v.rule.Limit+1)
		}}, time.Unix(1_700_000_000+rnd.Int64N(1000), rnd.Int64N(1e9)))
	for range nodes {
		v.Join(time.Duration(rnd.Int64N(200)-100) * time.Millisecond)
		n := v.Nodes[len(v.Nodes)-1]
		v.lists[n] = blocklist.New(blocklist.Config{})
		d := detector.New(detector.Config{Rules: set, Memory: shard.NewMemory(1 << 20), List: v.lists[n], Node: n.Name, Seed: 1,
			Crossed: func(c edgeguard.Crossing) {
				if c.Action == edgeguard.ActionBlock {
					v.blocks++
				}
			},
			Fleet: func(meter int, op *shard.Op, count uint32) uint32 { return n.Totals.Count(meter, op, count) },
			Rest:  func(meter int, op *shard.Op, count uint32) uint32 { return n.Totals.RestOfFleet(meter, op, count) },
			Until: func(meter int, op *shard.Op, limit uint32) (least, most uint32) {
				return n.Totals.Until(meter, op, limit)
			},
		})
		n.Tables[0], v.detectors[n], v.sent[n] = d.Tables()[0].Table, d, make(map[uint32]uint32)
		v.Reload(n)
	}
	return v
}

// over blocks for a proven total; the block reaches the other nodes, an extension does not.
func (v *visitor) over(n *Node, k aggregator.Key, counted uint32) {
	v.detectors[n].FleetCount(v.Local(n), 0, k.Prefix, 0, counted, "over limit in the fleet")
	v.spread(n)
}

// spread lets the others have a node's block, if they have none.
func (v *visitor) spread(from *Node) {
	b := v.lists[from].BlockOf(v.Local(from), netip.PrefixFrom(denied, 32))
	if b == nil {
		return
	}
	for _, n := range v.Nodes {
		if v.lists[n].BlockOf(v.Local(n), b.Prefix) == nil && b.Until.After(v.Local(n)) {
			if _, err := v.lists[n].Merge(*b, v.Local(n)); err != nil {
				v.fail(err)
			}
		}
	}
}

// total is what the fleet counted in the window that ends at a slot.
func (v *visitor) total(slot uint32) (sum uint32) {
	for _, counts := range v.sent {
		for i := range uint32(ring.Slots) {
			sum += counts[slot-i]
		}
	}
	return sum
}

func (v *visitor) send(n *Node) edgeguard.Verdict {
	at := v.Local(n)
	v.sent[n][slot(&v.Meters[0], at)]++
	verdict := v.detectors[n].Decide(at, &edgeguard.Event{Time: at, Addr: denied, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest})
	v.spread(n)
	return verdict
}

// round is what happens between two requests.
func (v *visitor) round(tick int) {
	v.Deliver()
	for i, n := range v.Nodes {
		if (tick+7*i)%20 == 0 {
			v.PushRound(n)
		}
		v.ReadWatches(n, v.Now.Add(-denyStep))
		v.LearnClock(n)
	}
}

// TestWhileOver: of an address that no node sees over the limit a block of a while_over rule is
// extended while it goes on, without an end between, and ends as soon as the count has fallen.
func TestWhileOver(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		times := []float64{1.5, 3, 6}[seed%3]
		v := newVisitor(t, rules.Spec{Name: "site", Threshold: 100, Guard: "1", Window: time.Minute, BlockFor: 5 * time.Second, WhileOver: true}, 8, seed+1)
		rnd := rand.New(rand.NewPCG(seed, 12))
		gap := time.Duration(float64(time.Minute) / 100 / times)
		next, stop := v.Now.Add(time.Second), v.Now.Add(4*time.Minute)
		var blocked, passed, requests int
		for tick := 0; v.Now.Before(stop); tick++ {
			v.Now = v.Now.Add(denyStep)
			for ; !next.After(v.Now); next = next.Add(gap) {
				n := v.Nodes[rnd.IntN(len(v.Nodes))]
				requests++
				switch verdict := v.send(n); {
				case verdict.Action == edgeguard.ActionDeny:
					blocked++
				case blocked > 0 && v.total(slot(&v.Meters[0], v.Local(n))) > v.rule.Limit:
					passed++
				}
			}
			v.round(tick)
		}
		if v.Err() != nil {
			t.Fatal(v.Err())
		}
		ends := time.Time{}
		for _, n := range v.Nodes {
			if b := v.lists[n].BlockOf(v.Local(n), netip.PrefixFrom(denied, 32)); b != nil && b.Until.Add(-n.Skew).After(ends) {
				ends = b.Until.Add(-n.Skew)
			}
		}
		falls := slot(&v.Meters[0], v.Now)
		for v.total(falls) > v.rule.Limit {
			falls++
		}
		truth := time.Unix(int64(falls), 0)
		if blocked*10 < requests*8 || passed > 0 || v.blocks != 1 || ends.After(truth.Add(time.Second)) {
			t.Errorf("seed %d, %v times: %d blocks, %d of %d blocked, then %d passed over the limit; the last block ends %v after the count has fallen",
				seed, times, v.blocks, blocked, requests, passed, ends.Sub(truth))
		}
	}
}
