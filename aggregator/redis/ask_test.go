package redis

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/clockguard"
	"edgeguard/internal/redistest"
)

// heldBlock is a block of another node's rule.
func heldBlock(addr string) edgeguard.Block {
	return edgeguard.Block{
		Prefix: key(addr).Prefix, Rule: "site", Origin: "edge-z", Since: time.Now(), Until: time.Now().Add(time.Minute), Version: 1,
	}
}

// TestAsk: of the held blocks a node pushes those that it has counts of, however few, and
// that some node has reported. It does not speak of the others.
func TestAsk(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	m := newMember(t, testConfig(s.Addr, "edge-a"))
	m.counts = aggregator.New(aggregator.Config{ // one request is far from a share of the limit
		Meters: []aggregator.Meter{{Fingerprint: testMeter, Width: testWidth, Limit: testLimit, Table: m.table}},
		Boot:   time.Now().Add(-5 * time.Minute), Quiet: true, MaxNodes: 2, Nodes: 2,
	})
	const uncounted, released, manual, unknown, counted = "203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.5", "203.0.113.4"
	m.waits = map[netip.Prefix]bool{
		key(uncounted).Prefix: true, key(manual).Prefix: true, key(unknown).Prefix: true, key(counted).Prefix: true,
	}
	pushAs(t, s, [8]byte{1}, counted, clockguard.Slot(time.Now(), testWidth), 9)
	for _, addr := range []string{released, manual, unknown, counted} {
		m.see(addr, 1)
	}
	m.start(t)
	m.eventually(t, "the fleet", func() bool { return m.link.Stats().Up })
	byHand := heldBlock(manual)
	byHand.Rule = edgeguard.ManualRule
	m.link.PushCountsOf(byHand)
	for _, addr := range []string{uncounted, released, unknown, counted} {
		m.link.PushCountsOf(heldBlock(addr))
	}
	m.eventually(t, "the count", func() bool { return held(t, s, counted) == 9+1 })
	for _, addr := range []string{uncounted, released, manual, unknown} {
		if n := held(t, s, addr); n != 0 {
			t.Errorf("%d of %s were pushed", n, addr)
		}
	}
	if got := m.counts.Stats().WatchesReceived; got != 1 {
		t.Errorf("%d keys were pushed", got)
	}
}

// TestAskManyAtItsPace: those come first of which the node has counted most, and no
// more than a second's at once, in a large fleet its part of what Redis can answer.
func TestAskManyAtItsPace(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	m := newMember(t, testConfig(s.Addr, "edge-a"))
	m.waits = map[netip.Prefix]bool{}
	const many, most = 2 * asksPace, 5
	link, err := New(m.config, testPeer{m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { link.client.Close() })
	for i := range many {
		addr := fmt.Sprintf("10.0.%d.%d", i/250, i%250)
		m.waits[key(addr).Prefix] = true
		m.see(addr, 1)
		if i >= many-most {
			m.see(addr, 1)
		}
		link.PushCountsOf(heldBlock(addr))
	}
	for i := range many {
		suspect := link.pushes.pusher.names.suspect(key(fmt.Sprintf("10.0.%d.%d", i/250, i%250)))
		if err := s.Client().HSet(t.Context(), suspect, "f", "of other nodes").Err(); err != nil {
			t.Fatal(err)
		}
	}
	link.stats.nodes.Store(50)
	if err := link.pushes.pushAsked(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := m.counts.Stats().WatchesReceived; got != asksFleet/50 {
		t.Errorf("one of 50 nodes asks for %d at once", got)
	}
	for i := range many {
		link.PushCountsOf(heldBlock(fmt.Sprintf("10.0.%d.%d", i/250, i%250)))
	}
	link.pushes.asks.SetPace(asksPace)
	first := link.pushes.asks.TakeNext(time.Now().Add(time.Second), many)
	if len(first) != asksPace {
		t.Fatalf("%d at once", len(first))
	}
	for i, prefix := range first {
		if n := m.counts.OwnCount(key(prefix.Addr().String()), time.Now()); n != 1 && i >= most || n != 2 && i < most {
			t.Errorf("turn %d has %d requests", i, n)
		}
	}
}
