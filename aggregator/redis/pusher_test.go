package redis

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// pusherOf returns a member that pushes on request, at its own time.
func pusherOf(t testing.TB, s *redistest.Server, name string, names map[[8]byte]string) (*member, *Pusher) {
	t.Helper()
	m := newMember(t, testConfig(s.Addr, name))
	m.config.Boot = "00000000000000aa"
	client, err := NewClient(m.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	p, err := NewPusher(client, m.config, testPeer{m}, names)
	if err != nil {
		t.Fatal(err)
	}
	return m, p
}

func TestPusherPushesManyKeys(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	m, p := pusherOf(t, s, "edge-a", nil)
	ctx := context.Background()
	const keys = 2500 // several calls a partition, and several pipelines
	for i := range keys {
		m.see(fmt.Sprintf("10.0.%d.%d", i/250, i%250), 1+i%3)
	}
	if err := p.Round(ctx, time.Now()); err != nil {
		t.Fatal(err)
	}
	if n := p.stats.keys.Load(); n != keys {
		t.Errorf("%d keys answered, not %d", n, keys)
	}
	if err := p.Round(ctx, time.Now()); err != nil {
		t.Fatal(err)
	}
	if n := p.stats.keys.Load(); n != keys {
		t.Errorf("%d keys after a round without news, not %d", n, keys)
	}
}

// TestPusherReconciles: what Redis still has is not sent again; what it lost
// is, and most of it unasked.
func TestPusherReconciles(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	m, p := pusherOf(t, s, "edge-a", nil)
	ctx := context.Background()
	const keys = 3 * batch
	for i := range keys {
		m.see(fmt.Sprintf("10.0.%d.%d", i/250, i%250), 1+i%3)
	}
	if err := p.Round(ctx, time.Now()); err != nil {
		t.Fatal(err)
	}
	reconcile := func() (reconciled, full uint64) {
		t.Helper()
		before := m.counts.Stats()
		m.counts.ReconcileAll()
		for more := true; more; {
			var err error
			if more, err = p.reconcile(ctx, time.Now(), batch); err != nil {
				t.Fatal(err)
			}
		}
		after := m.counts.Stats()
		return after.Reconciled - before.Reconciled, after.FullRequested - before.FullRequested
	}
	if reconciled, full := reconcile(); reconciled != keys || full != 0 {
		t.Errorf("%d reconciles, %d full pushes requested", reconciled, full)
	}
	if err := s.Client().FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	if reconciled, full := reconcile(); reconciled != keys || full < batch || full >= 2*batch {
		t.Errorf("%d reconciles, %d full pushes requested", reconciled, full)
	}
	for i := range 20 {
		if n := held(t, s, fmt.Sprintf("10.0.%d.%d", i, i)); n != 1+(i*250+i)%3 {
			t.Errorf("key %d: %d counts", i, n)
		}
	}
}

func TestPusherSaysWhoSawWhat(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	names := map[[8]byte]string{}
	for _, name := range []string{"edge-a", "edge-b"} {
		names[aggregator.NodeID(name, "00000000000000aa")] = name
	}
	a, pa := pusherOf(t, s, "edge-a", names)
	b, pb := pusherOf(t, s, "edge-b", names)
	const addr = "2001:db8::" // counted by /64
	a.see(addr, 70)
	b.see(addr, 60)
	for _, p := range []*Pusher{pa, pb} {
		if err := p.Round(context.Background(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if a.blocked(addr) != nil {
		t.Error("blocked by the first, who did not know of the second")
	}
	block := b.blocked(addr)
	if block == nil || block.Count != 130 || block.Reason != "over limit in the fleet: edge-a 70, edge-b 60" {
		t.Errorf("%+v", block)
	}
}

// TestPusherRepeatsUnblocks: the next push of a key repeats an unblock that
// Redis lacks, and is then pushed in full.
func TestPusherRepeatsUnblocks(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	m, p := pusherOf(t, s, "edge-a", nil)
	const addr = "203.0.113.1"
	now := time.Now()
	push := func(want int) {
		t.Helper()
		if err := p.Round(context.Background(), now); err != nil {
			t.Fatal(err)
		}
		if n := held(t, s, addr); n != want {
			t.Errorf("%d counts, not %d", n, want)
		}
	}
	m.seeAt(addr, 90, now.Add(-20*time.Second))
	push(90)
	m.table.Clear(netip.MustParseAddr(addr), "")
	m.counts.Forget(key(addr).Prefix, now.Add(-10*time.Second))
	m.seeAt(addr, 12, now.Add(-5*time.Second))
	m.seeAt(addr, 7, now)
	push(19)
	m.seeAt(addr, 1, now)
	push(20)
	if m.blocked(addr) != nil {
		t.Error("blocked by what was forgotten")
	}
}

// TestPusherUnanswered: a round that Redis did not answer is an error that says
// which part failed, and the next round makes up for it.
func TestPusherUnanswered(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	proxy := redistest.NewProxy(t, s.Addr)
	m := newMember(t, testConfig(proxy.Addr, "edge-a"))
	m.config.Timeout = 100 * time.Millisecond
	client, err := NewClient(m.config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	p, err := NewPusher(client, m.config, testPeer{m}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.see("203.0.113.1", 7)
	for _, fault := range []redistest.Fault{{DropReplies: true}, {CutReplyAfter: 1}, {CutAfter: 30}, {Swallow: true}} {
		proxy.Set(fault)
		if err := p.Round(context.Background(), time.Now()); err == nil || !isConnectionLost(err) {
			t.Errorf("%+v: %v", fault, err)
		}
		proxy.Cut()
		proxy.Heal()
		m.see("203.0.113.1", 1)
	}
	program.Eventually(t, "a round", func() bool { return p.Round(context.Background(), time.Now()) == nil })
	if n := held(t, s, "203.0.113.1"); n != 11 {
		t.Errorf("%d counts, not 11", n)
	}
}

func TestLost(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("watch list: EOF"), true},
		{&pushError{4, 4, errors.New("EOF")}, true},
		{&pushError{4, 1, errors.New("CLUSTERDOWN")}, false},
		{&pushError{4, 4, errors.New("EDGEGUARD clock 123")}, false},
		{fmt.Errorf("round: %w", &pushError{4, 4, errors.New("EOF")}), true},
	} {
		if got := isConnectionLost(test.err); got != test.want {
			t.Errorf("%v: %v", test.err, got)
		}
	}
}

// TestLivePusherClaimsTheTimeOfSending: a round of very many keys takes Redis
// longer than a node's time may differ, and is not a wrong clock; a replay's
// round is of the time that it is given.
func TestLivePusherClaimsTheTimeOfSending(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	for _, live := range []bool{true, false} {
		m, p := pusherOf(t, s, "edge-a", nil)
		p.live = live
		m.see("203.0.113.7", 3)
		err := p.Round(context.Background(), time.Now().Add(-7*time.Second))
		if live != (err == nil) {
			t.Errorf("live %t: %v", live, err)
		}
	}
}
