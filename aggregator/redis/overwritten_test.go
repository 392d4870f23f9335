package redis

import (
	"context"
	"testing"
	"time"

	"edgeguard/aggregator/fleet"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// What a node's user wrote past the functions, once, must not keep a node from the
// fleet, or a block from a node, from then on.

// TestTipThatIsNotAnID: a node joins, and sees changes.
func TestTipThatIsNotAnID(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	names := newNames("test", 4)
	for _, tip := range []string{"garbage", "1-x", "-", "99999999999999999999-0"} {
		if err := s.Client().HSet(context.Background(), names.state, "tip", tip).Err(); err != nil {
			t.Fatal(err)
		}
		at := startPosition(fleet.State{Tip: tip, Now: time.Unix(1_800_000_000, 0)}, time.Minute)
		if want := "1799999999999-0"; at.changes != want {
			t.Errorf("after the tip %q reading begins at %s, not %s", tip, at.changes, want)
		}
	}
	nodes := join(t, s.Addr, 2, nil)
	if _, err := nodes[0].list.Merge(nodes[0].byHand("203.0.113.7/32"), time.Now()); err != nil {
		t.Fatal(err)
	}
	nodes[1].eventually(t, "the block", func() bool { return nodes[1].blocked("203.0.113.7") != nil })
}

// TestWatchListThatIsFull: what accepts no more entries is begun again, and nodes
// that read its last one find the next.
func TestWatchListThatIsFull(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	nodes := join(t, s.Addr, 2, nil)
	ctx, names := context.Background(), newNames("test", 4)
	if err := s.Client().Do(ctx, "xadd", names.watch, lastID, "k", "x").Err(); err != nil {
		t.Fatal(err)
	}
	program.Eventually(t, "the list to be deleted", func() bool { return s.Client().Exists(ctx, names.watch).Val() == 0 })
	for _, m := range nodes {
		m.see("203.0.113.7", 95)
	}
	for _, m := range nodes {
		m.eventually(t, "the block", func() bool { return m.blocked("203.0.113.7") != nil })
		if !m.link.IsJoined() {
			t.Errorf("%s is cut off", m.name)
		}
	}
}

// TestNoDigestForLong: a block that was removed past the functions while ended
// records wait is there again after a minute of heartbeats, and not before: so
// much is often removed.
func TestNoDigestForLong(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	m := newMember(t, testConfig(s.Addr, "edge-a"))
	l, err := New(m.config, testPeer{m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.client.Close() })
	ctx := context.Background()
	for range 2 {
		for range fleet.MostBlind - 1 {
			l.drift.compare(ctx, fleet.State{})
		}
		if len(l.list.resync) != 0 {
			t.Fatal("the list is read too soon")
		}
		l.drift.compare(ctx, fleet.State{Digest: "0000000000000000"})
	}
	for range fleet.MostBlind {
		l.drift.compare(ctx, fleet.State{})
	}
	if len(l.list.resync) != 1 {
		t.Error("the list is not read")
	}
}
