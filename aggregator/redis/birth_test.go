package redis

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// TestBirth: the namespace's creation is recorded once, and again after it was
// emptied.
func TestBirth(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	l := alone(t, s)
	ctx := context.Background()
	born := func() string {
		t.Helper()
		standing, err := l.beats.sendHeartbeat(ctx, false)
		if err != nil || standing.Born == "" {
			t.Fatalf("born %q: %v", standing.Born, err)
		}
		return standing.Born
	}
	first := born()
	if again := born(); again != first {
		t.Errorf("born %s, and %s a heartbeat later", first, again)
	}
	if err := s.Client().FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	if anew := born(); anew == first {
		t.Errorf("born %s, and again after it was emptied", first)
	}
}

// TestEmptiedWithoutBlocks: quiet nodes without a block that could be missing
// still find out that Redis was emptied: three heartbeats and two rounds later,
// all that they counted is there.
func TestEmptiedWithoutBlocks(t *testing.T) {
	t.Parallel()
	const clients, count = 50, 9 // under the limit, over a quiet node's share
	s := startRedis(t, redistest.Options{})
	var fleet []*member
	var beats [2]atomic.Int64
	for i := range beats {
		c := testConfig(s.Addr, fmt.Sprintf("edge-%c", 'a'+i))
		m := newMember(t, c)
		m.counts = aggregator.New(aggregator.Config{
			Meters: []aggregator.Meter{{Fingerprint: testMeter, Width: testWidth, Limit: testLimit, Table: m.table}},
			Boot:   time.Now().Add(-5 * time.Minute), Nodes: 1, MaxNodes: 10, Quiet: true,
		})
		m.met = func([]aggregator.Heartbeat) { beats[i].Add(1) }
		fleet = append(fleet, m.start(t))
		m.eventually(t, "the fleet", func() bool { return m.link.IsJoined() })
	}
	addr := func(i int) string { return fmt.Sprintf("203.0.113.%d", i) }
	for i := range clients {
		for _, m := range fleet {
			m.see(addr(i), count)
		}
	}
	exact := func() (n int) {
		for i := range clients {
			if held(t, s, addr(i)) == count*len(fleet) {
				n++
			}
		}
		return n
	}
	program.Eventually(t, "all counts", func() bool { return exact() == clients })
	if err := s.Client().FlushAll(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	heard := [2]int64{beats[0].Load(), beats[1].Load()}
	for i, m := range fleet {
		m.eventually(t, "three heartbeats", func() bool { return beats[i].Load() >= heard[i]+3 })
		rounds := m.link.Stats().Rounds
		m.eventually(t, "two rounds", func() bool { return m.link.Stats().Rounds >= rounds+2 })
	}
	if n := exact(); n != clients {
		t.Errorf("the counts of %d clients of %d are exact", n, clients)
	}
	for _, m := range fleet {
		if n := m.link.Stats().Reconnects; n != 1 {
			t.Errorf("%s joined %d times: it was cut off, and not only Redis emptied", m.name, n)
		}
	}
}
