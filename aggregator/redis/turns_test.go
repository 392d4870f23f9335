package redis

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/clockguard"
	"edgeguard/internal/redistest"
	"edgeguard/shard"
)

// judging is a node by what it has of other nodes' blocks.
type judging struct {
	Counting
	settled, weighs bool
}

func (j *judging) Settled(aggregator.Key, uint32) bool { return j.settled }
func (j *judging) Weighs(aggregator.Key) bool          { return j.weighs }

// TestWhoProves: the node whose push crossed the limit proves at once; the others within a
// second, unless a block settles the key by then. What a node holds or has charged it proves at
// once, and so it does what must be renewed, and all while it is alone.
func TestWhoProves(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	counts := aggregator.New(aggregator.Config{Boot: now, MaxNodes: 50, Nodes: 50,
		Meters: []aggregator.Meter{{Fingerprint: 7, Width: 5, Limit: 100, Table: shard.New(shard.NewMemory(1<<20), shard.Config{})}}})
	seen := 0
	look := func() aggregator.SplitLook {
		seen++
		k := aggregator.Key{Meter: 7, Prefix: netip.MustParsePrefix(fmt.Sprintf("203.0.113.%d/32", seen))}
		counts.Watch(k, now)
		return aggregator.SplitLook{Key: k, Peak: 120, Heads: []uint32{1}, Sum: 3, Act: true}
	}
	for name, c := range map[string]struct {
		nodes  int64
		change func(*judging, *aggregator.SplitLook)
		atOnce bool
	}{
		"another's push crossed":  {50, func(*judging, *aggregator.SplitLook) {}, false},
		"this node's push":        {50, func(_ *judging, l *aggregator.SplitLook) { l.Mine = true }, true},
		"a block is held here":    {50, func(j *judging, _ *aggregator.SplitLook) { j.weighs = true }, true},
		"the proof is to renew":   {50, func(_ *judging, l *aggregator.SplitLook) { l.Renew = true }, true},
		"the node is alone":       {1, func(*judging, *aggregator.SplitLook) {}, true},
		"heartbeats do not exist": {0, func(*judging, *aggregator.SplitLook) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			node, l := &judging{}, look()
			p := &Pusher{node: node, stats: &counters{}, id: aggregator.NodeID("a", "b")}
			p.stats.nodes.Store(c.nodes)
			c.change(node, &l)
			if _, first := p.due(counts, []aggregator.SplitLook{l}, now); (len(first) == 1) != c.atOnce {
				t.Fatalf("%d are looked at at once", len(first))
			}
			if c.atOnce != !p.waits() {
				t.Errorf("waits: %t", p.waits())
			}
		})
	}
	node := &judging{}
	p := &Pusher{node: node, stats: &counters{}, id: aggregator.NodeID("a", "b")}
	p.stats.nodes.Store(50)
	due := func(when string, answered []aggregator.SplitLook, now time.Time, want int) {
		t.Helper()
		again, first := p.due(counts, answered, now)
		if len(again) != 0 || len(first) != want {
			t.Errorf("%s: %d and %d are looked at, want %d", when, len(again), len(first), want)
		}
	}
	settled, stalled, held := look(), look(), look()
	due("three crossed elsewhere", []aggregator.SplitLook{settled, stalled, held}, now, 0)
	due("pushed again", []aggregator.SplitLook{settled, stalled}, now, 0)
	node.weighs = true
	due("the block of one came and is held", []aggregator.SplitLook{held}, now, 1)
	node.weighs, node.settled = false, true
	due("a block came", []aggregator.SplitLook{settled}, now, 0)
	p.looks.Forget(settled.Key)
	node.settled = false
	due("the other node stalls", nil, now.Add(time.Second), 1)
	again := look()
	due("another", []aggregator.SplitLook{again}, now, 0)
	node.settled = true
	if due("its block came by its turn", nil, now.Add(time.Second), 0); p.waits() {
		t.Error("it waits still")
	}
}

// TestNotAnswered: what Redis did not answer in time is asked for again with the next round,
// and not only at the reconcile.
func TestNotAnswered(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	config := testConfig(s.Addr, "edge-a")
	m := newMember(t, config)
	m.counts = aggregator.New(aggregator.Config{ // one request is far from a share of the limit
		Meters: []aggregator.Meter{{Fingerprint: testMeter, Width: testWidth, Limit: testLimit, Table: m.table}},
		Boot:   time.Now().Add(-5 * time.Minute), Quiet: true, MaxNodes: 2, Nodes: 2,
	})
	const addr = "203.0.113.9"
	m.see(addr, 1)
	p := newPusher(s.Client(), &config, testPeer{m}, fleet.NamedRoster(nil), &counters{})
	late, cancel := context.WithCancel(t.Context())
	cancel()
	now := time.Now()
	if err := p.Round(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	pushed := []aggregator.Key{key(addr)}
	if err := p.PushWatched(t.Context(), pushed, now); err != nil {
		t.Fatal(err)
	}
	later := func() (keys int) {
		for pushes := range m.counts.Collect(now, batch) {
			keys += len(pushes)
		}
		return keys
	}
	if n := later(); n != 0 {
		t.Errorf("%d keys go with the next round: all was answered", n)
	}
	if err := p.PushWatched(late, pushed, now); err == nil {
		t.Fatal("the push was answered")
	}
	if n := later(); n != 1 {
		t.Errorf("%d keys go with the next round: the one whose push was not answered does", n)
	}
	look := aggregator.SplitLook{Key: key(addr), Peak: 120, Heads: []uint32{clockguard.Slot(now, testWidth)}, Sum: 3, Act: true, Mine: true}
	p.prove(late, m.counts, []aggregator.SplitLook{look}, now)
	if len(p.later) != 1 || p.later[0].Key != key(addr) {
		t.Errorf("the split that was not answered is forgotten: %+v", p.later)
	}
}
