package redis

import (
	"context"
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator/fleet"
	"edgeguard/internal/redistest"
)

func floodAddr(i int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 100<<24|uint32(i))
	return netip.AddrFrom4(b)
}

// flood makes block i of a rule.
func (m *member) flood(t testing.TB, i int) {
	t.Helper()
	now := time.Now()
	if changed, err := m.list.Merge(edgeguard.Block{
		Prefix: netip.PrefixFrom(floodAddr(i), 32), Rule: "flood", Reason: "flood", Origin: m.name,
		Since: now, Until: now.Add(time.Hour), Version: 1,
	}, now); !changed || err != nil {
		t.Fatal(changed, err)
	}
}

// allowance is how many blocks may have been published in a time.
func allowance(pace int, since time.Time) uint64 {
	return uint64(float64(pace) * (1 + time.Since(since).Seconds()))
}

// TestFloodIsPublishedPaced: a node that blocks 8,250 addresses a second has each
// in force immediately. To the others it sends 200 a second, those that refused
// most first, and an operator's unblock immediately.
func TestFloodIsPublishedPaced(t *testing.T) {
	t.Parallel()
	const rate, seconds, hot = 8_250, 3, 100
	s := startRedis(t, redistest.Options{})
	nodes := join(t, s.Addr, 2, nil)
	a, b := nodes[0], nodes[1]
	began, slow, longest := time.Now(), 0, time.Duration(0)
	paced := func() {
		t.Helper()
		if n, most := a.link.Stats().Published, allowance(fleet.PublishPace, began); n > most+1 { // and the unblock
			t.Fatalf("%d published in %v, not %d at most", n, time.Since(began), most)
		}
	}
	unblocked := netip.Prefix{}
	for i := range rate * seconds {
		if at := began.Add(time.Duration(i) * time.Second / rate); i%330 == 0 {
			time.Sleep(time.Until(at))
		}
		start := time.Now()
		a.flood(t, i)
		if a.blocked(floodAddr(i).String()) == nil {
			t.Fatalf("block %d is not in force on the node that made it", i)
		}
		took := time.Since(start)
		longest = max(longest, took)
		if took > 100*time.Millisecond {
			slow++
		}
		if i == rate*seconds/2 {
			b.eventually(t, "one of the first blocks", func() bool { return b.list.Len() > 0 })
			for block := range b.list.All(time.Now()) {
				unblocked = block.Prefix
				break
			}
			if _, ok := a.list.Lift(unblocked, time.Now(), "a customer", "admin"); !ok {
				t.Fatal("the block is not in force")
			}
			before := a.link.Stats().Waiting
			b.eventually(t, "the unblock", func() bool { return b.blocked(unblocked.Addr().String()) == nil })
			if n := a.link.Stats().Waiting; n < before/2 {
				t.Errorf("the unblock came when %d of %d blocks still waited", n, before)
			}
			paced()
		}
	}
	t.Logf("%d blocks in %v; %d took over 100 ms, the longest %v; %d published", rate*seconds, time.Since(began), slow, longest, a.link.Stats().Published)
	paced()
	for i := range hot {
		addr := floodAddr(rate*seconds - 1 - 7*i)
		if _, hit := a.list.FindHit(time.Now(), addr); hit != nil {
			hit.Refused(time.Now(), 1)
		}
	}
	b.eventually(t, "the blocks that refused something", func() bool {
		paced()
		for i := range hot {
			if b.blocked(floodAddr(rate*seconds-1-7*i).String()) == nil {
				return false
			}
		}
		return true
	})
	if n := a.link.Stats().Waiting; n < rate*seconds-int(allowance(fleet.PublishPace, began)) {
		t.Errorf("only %d wait", n)
	}
}

// TestWaitingBlocksAreNotLost: blocks that wait while the node stops, loses its
// connection, or Redis is emptied, are published at their pace, and what the fleet
// had before is put back immediately.
func TestWaitingBlocksAreNotLost(t *testing.T) {
	t.Parallel()
	const pace, blocks = 100, 600
	for name, disturb := range map[string]func(*testing.T, *redistest.Server, *redistest.Proxy, *member){
		"the node restarts": func(t *testing.T, _ *redistest.Server, _ *redistest.Proxy, a *member) {
			a.stop()
			a.config.Boot = ""
			a.start(t)
		},
		"the connection is lost": func(t *testing.T, _ *redistest.Server, p *redistest.Proxy, a *member) {
			p.Set(redistest.Fault{Refuse: true})
			p.Cut()
			a.eventually(t, "the fault", func() bool { return !a.link.IsJoined() })
			for i := range 50 {
				a.flood(t, blocks+i)
			}
			p.Heal()
		},
		"Redis is emptied": func(t *testing.T, s *redistest.Server, _ *redistest.Proxy, a *member) {
			had := a.link.Stats().Published
			if err := s.Client().FlushAll(context.Background()).Err(); err != nil {
				t.Fatal(err)
			}
			a.eventually(t, "what the fleet had", func() bool { return uint64(a.link.Stats().Records) >= had })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startRedis(t, redistest.Options{})
			way := redistest.NewProxy(t, s.Addr)
			a, b := newMember(t, testConfig(way.Addr, "edge-a")), newMember(t, testConfig(s.Addr, "edge-b"))
			a.pace = pace
			for _, m := range []*member{a, b} {
				m.start(t).eventually(t, "the fleet", m.link.IsJoined)
			}
			began := time.Now()
			for i := range blocks {
				a.flood(t, i)
			}
			b.eventually(t, "the first blocks", func() bool { return b.list.Len() >= pace })
			if a.link.Stats().Waiting == 0 {
				t.Fatal("nothing waits")
			}
			disturb(t, s, way, a)
			a.eventually(t, "the fleet", a.link.IsJoined)
			b.eventually(t, "all blocks, at their pace", func() bool {
				n := b.list.Len()
				// A restarted node may send as many in one moment as in a second.
				if most := allowance(pace, began) + pace; uint64(n) > most {
					t.Fatalf("%d blocks arrived in %v, not %d at most", n, time.Since(began), most)
				}
				return n == a.list.Len()
			})
			if n := a.link.Stats().Waiting; !oneList([]*member{a, b}) || n != 0 {
				t.Errorf("the lists differ, or %d still wait", n)
			}
			settle(t, s, a, b)
		})
	}
}

// TestWhatHasEndedDoesNotGo: a block that was evicted, ended, unblocked, or
// replaced while it waited is not published as it was.
func TestWhatHasEndedDoesNotGo(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	a, b := bounded(t, s, "edge-a", 100), newMember(t, testConfig(s.Addr, "edge-b"))
	a.pace = 10
	for _, m := range []*member{a, b} {
		m.start(t).eventually(t, "the fleet", m.link.IsJoined)
	}
	for i := range 400 { // 300 of which are evicted
		a.flood(t, i)
	}
	var left []netip.Prefix
	for block := range a.list.All(time.Now()) {
		if a.link.publisher.outbox.Waits(block.Prefix) {
			left = append(left, block.Prefix)
		}
	}
	unblocked, replaced := left[0], left[1]
	if _, ok := a.list.Lift(unblocked, time.Now(), "a customer", "admin"); !ok {
		t.Fatal("it is not blocked")
	}
	if _, err := a.list.Merge(a.byHand(replaced.String()), time.Now()); err != nil {
		t.Fatal(err)
	}
	b.eventually(t, "the operator's block", func() bool { return b.blocked(replaced.Addr().String()) != nil })
	if a.link.Stats().Waiting < 50 {
		t.Error("the operator's block waited for its turn")
	}
	a.eventually(t, "an empty outbox", func() bool { return a.link.Stats().Waiting == 0 })
	settle(t, s, a, b)
	if n, most := int(a.link.Stats().Published), 100+2+12; n > most { // of those evicted, what went before
		t.Errorf("%d published, of a list of 100", n)
	}
	if b.blocked(unblocked.Addr().String()) != nil || b.blocked(replaced.Addr().String()).Rule != edgeguard.ManualRule {
		t.Error("what an operator changed has not arrived")
	}
}
