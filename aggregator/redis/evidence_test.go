package redis

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/clockguard"
	"edgeguard/internal/redistest"
)

// pushAs pushes counts of one slot under an ID, past every node.
func pushAs(t *testing.T, s *redistest.Server, id [8]byte, addr string, slot uint32, n uint16) {
	t.Helper()
	c := testConfig(s.Addr, "")
	names := newNames(c.Namespace, c.Partitions)
	push := aggregator.Push{First: slot, Sum: uint32(n), Counts: []uint16{n}}
	keys := []string{names.clocks[key(addr).Partition(c.Partitions)], names.suspect(key(addr))}
	header := aggregator.NewHeader(id, time.Now(), testWidth).Append(nil)
	if err := s.Client().FCall(context.Background(), function("push"), keys, header, push.AppendBody(nil)).Err(); err != nil {
		t.Fatal(err)
	}
}

func round(t *testing.T, p *Pusher, now time.Time) {
	t.Helper()
	if err := p.Round(context.Background(), now); err != nil {
		t.Fatal(err)
	}
}

// A total blocks by what nodes counted: neither by a stranger's counts, nor by more
// in this node's name than it counted.
func TestPusherProvesTotals(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	names := map[[8]byte]string{}
	for _, name := range []string{"edge-a", "edge-b"} {
		names[aggregator.NodeID(name, "00000000000000aa")] = name
	}
	a, pa := pusherOf(t, s, "edge-a", names)
	b, pb := pusherOf(t, s, "edge-b", names)
	const strange, own = "203.0.113.1", "203.0.113.2"
	now := time.Now()
	slot := clockguard.Slot(now, testWidth)
	pushAs(t, s, [8]byte{1, 2, 3}, strange, slot, 1000)
	pushAs(t, s, pa.id, own, slot, 1000)
	a.seeAt(strange, 50, now)
	a.seeAt(own, 50, now)
	round(t, pa, now)
	for _, addr := range []string{strange, own} {
		if block := a.blocked(addr); block != nil {
			t.Errorf("%s is blocked: %+v", addr, block)
		}
	}
	b.seeAt(strange, 60, now)
	round(t, pb, now)
	if block := b.blocked(strange); block == nil || block.Count != 110 || block.Reason != "over limit in the fleet: edge-b 60, edge-a 50" {
		t.Errorf("over the limit by what nodes counted: %+v", block)
	}
}

// Of more keys than Redis can answer all nodes for, a node proves those first of which it has
// counted most, and the others as seconds pass.
func TestPusherProvesTheMostFirst(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	other := aggregator.NodeID("edge-b", "00000000000000aa")
	m, p := pusherOf(t, s, "edge-a", map[[8]byte]string{other: "edge-b"})
	const nodes = 300
	most, _ := aggregator.SplitsFor(nodes)
	p.fields = nodes // as of the keys before these
	now := time.Now()
	over := func(addr string, here int) {
		t.Helper()
		pushAs(t, s, other, addr, clockguard.Slot(now, testWidth), 1000)
		m.seeAt(addr, here, now)
		suspect := p.names.suspect(key(addr))
		ring, err := s.Client().HGet(context.Background(), suspect, string(other[:])).Result()
		if err != nil {
			t.Fatal(err)
		}
		for i := range nodes - 2 {
			if err := s.Client().HSet(context.Background(), suspect, fmt.Sprintf("edge-%03d", i), ring).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	attacker, clients := "10.0.1.0", make([]string, 2*most-1)
	for i := range clients {
		clients[i] = fmt.Sprintf("10.0.0.%d", i)
		over(clients[i], 1)
	}
	over(attacker, 20)
	blocked := func() (n int) {
		for _, addr := range clients {
			if m.blocked(addr) != nil {
				n++
			}
		}
		return n
	}
	round(t, p, now)
	if m.blocked(attacker) == nil || blocked() != most-1 {
		t.Errorf("of %d splits one is of the client that sent most: blocked %v, and %d others", most, m.blocked(attacker) != nil, blocked())
	}
	round(t, p, now)
	if got := blocked(); got != most-1 {
		t.Errorf("%d in the same second", got)
	}
	round(t, p, now.Add(time.Second))
	if got := blocked(); got != len(clients) || len(p.later) != 0 {
		t.Errorf("%d of %d a second later, %d wait", got, len(clients), len(p.later))
	}
}

// A peak of a window that has ended is found, and proven in that window.
func TestPusherProvesPeaks(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	other := aggregator.NodeID("edge-b", "00000000000000aa")
	a, p := pusherOf(t, s, "edge-a", map[[8]byte]string{other: "edge-b"})
	const addr = "203.0.113.1"
	now := time.Now()
	slot := clockguard.Slot(now, testWidth)
	pushAs(t, s, other, addr, slot-60, 60)
	a.seeAt(addr, 60, now.Add(-testWidth*time.Second))
	a.seeAt(addr, 1, now)
	round(t, p, now)
	if block := a.blocked(addr); block == nil || block.Count != 120 {
		t.Errorf("over the limit in a window that ended a slot ago: %+v", block)
	}
	const strange = "203.0.113.2"
	pushAs(t, s, [8]byte{1, 2, 3}, strange, slot-60, 60)
	a.seeAt(strange, 60, now.Add(-testWidth*time.Second))
	a.seeAt(strange, 1, now)
	round(t, p, now)
	if block := a.blocked(strange); block != nil {
		t.Errorf("a stranger's peak: %+v", block)
	}
}

// The counts of a node are evidence as soon as it has joined, and after it has left:
// also for nodes that join then.
func TestWhoseCountsAreEvidence(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 2, nil)
	fresh := newMember(t, testConfig(s.Addr, "edge-fresh")).start(t)
	fresh.eventually(t, "the fleet", func() bool { return fresh.link.Stats().Up && fresh.link.Stats().Rounds > 0 })
	const joined, left, before = "203.0.113.1", "203.0.113.2", "203.0.113.3"
	fresh.see(joined, 60)
	fresh.see(left, 60)
	fresh.see(before, 60)
	fleet[0].see(joined, 50)
	fleet[0].eventually(t, "the block by a fresh node's counts", func() bool { return fleet[0].blocked(joined) != nil })
	fresh.stop()
	fleet[1].see(left, 50)
	fleet[1].eventually(t, "the block by counts of a node that left", func() bool { return fleet[1].blocked(left) != nil })
	late := newMember(t, testConfig(s.Addr, "edge-late")).start(t)
	late.eventually(t, "the fleet", func() bool { return late.link.Stats().Up && late.link.Stats().Rounds > 0 })
	late.see(before, 50)
	late.eventually(t, "the block by counts of a node that left before", func() bool { return late.blocked(before) != nil })
	for _, m := range append(fleet, late) {
		if text := m.alarmed("forged/strangers"); text != "" {
			t.Errorf("%s alarms: %s", m.name, text)
		}
	}
}

// BenchmarkStrangers measures what it costs when somebody raises the counts of
// 100,000 clients that a node sees over their limit, under a name that no node has:
// the round that finds it, and the ten seconds after that, with a round every 500 ms.
func BenchmarkStrangers(b *testing.B) {
	const clients, each = 100_000, 200
	s := startRedis(b, redistest.Options{MaxMemory: "1gb"})
	names := newNames("test", 4)
	address := func(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255) }
	for b.Loop() {
		s.Client().FlushDB(context.Background())
		m, p := pusherOf(b, s, "edge-a", nil)
		now := time.Now()
		push := aggregator.Push{First: clockguard.Slot(now, testWidth), Sum: 1000, Counts: []uint16{1000}}
		body := push.AppendBody(nil)
		calls := map[int][]string{}
		for i := range clients {
			part := key(address(i)).Partition(4)
			calls[part] = append(calls[part], names.suspect(key(address(i))))
		}
		for part, keys := range calls {
			for some := range slices.Chunk(keys, each) {
				header := aggregator.NewHeader([8]byte{1}, time.Now(), testWidth).Append(nil)
				args := append([]any{header}, slices.Repeat([]any{body}, len(some))...)
				if err := s.Client().FCall(context.Background(), function("push"), append([]string{names.clocks[part]}, some...), args...).Err(); err != nil {
					b.Fatal(err)
				}
			}
		}
		round := func(now time.Time) (took, server time.Duration) {
			for i := range clients {
				m.seeAt(address(i), 1, now)
			}
			began, cpu := time.Now(), s.CPU()
			if err := p.Round(context.Background(), now); err != nil {
				b.Fatal(err)
			}
			return time.Since(began), s.CPU() - cpu
		}
		p.live = true // the rounds take longer than half a second
		took, server := round(now)
		b.ReportMetric(took.Seconds(), "first-s")
		b.ReportMetric(server.Seconds(), "first-redis-s")
		const rounds = 20
		took, server = 0, 0
		for i := range rounds {
			t, cpu := round(now.Add(time.Duration(i+1) * 500 * time.Millisecond))
			took, server = took+t, server+cpu
		}
		b.ReportMetric(took.Seconds()/rounds, "round-s")
		b.ReportMetric(server.Seconds()/rounds, "round-redis-s")
		b.ReportMetric(float64(len(m.over)), "over")
		b.ReportMetric(0, "ns/op")
	}
}
