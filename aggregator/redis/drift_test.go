package redis

import (
	"context"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// alone returns a link whose heartbeats and full reads the test makes.
func alone(t *testing.T, s *redistest.Server) *Link {
	t.Helper()
	m := newMember(t, testConfig(s.Addr, "edge-a"))
	l, err := New(m.config, testPeer{m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.client.Close() })
	return l
}

// look sends one heartbeat and does what follows from it. It reports whether
// the mirror equals the fleet's list.
func (l *Link) look(t *testing.T) (fits bool) {
	t.Helper()
	ctx := context.Background()
	s, err := l.beats.sendHeartbeat(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	l.drift.compare(ctx, s)
	select {
	case <-l.list.resync:
		if err := l.list.mergeWholeList(ctx, s); err != nil {
			t.Fatal(err)
		}
		return false
	default:
	}
	digest, version := l.list.mirror.Digest(s.Cutoff)
	return digest == s.Digest && version == s.Changes
}

// TestWrongDigestIsRepaired: a state that was lost without its blocks, and a
// block that was written without the library, cost some full reads and not one
// every few seconds for ever.
func TestWrongDigestIsRepaired(t *testing.T) {
	ctx, names := context.Background(), newNames("test", 4)
	for name, harm := range map[string]func(s *redistest.Server, record string) error{
		"state is lost": func(s *redistest.Server, _ string) error { return s.Client().Del(ctx, names.state).Err() },
		"a raw block": func(s *redistest.Server, record string) error {
			return s.Client().HSet(ctx, names.blocks, key("203.0.113.8").Prefix.String(), record).Err()
		},
		"raw rubbish": func(s *redistest.Server, _ string) error {
			return s.Client().HSet(ctx, names.blocks, "x", "y").Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startRedis(t, redistest.Options{})
			l := alone(t, s)
			now := time.Now()
			record := func(addr string) string {
				r := aggregatorRecord(edgeguard.Block{
					Prefix: key(addr).Prefix, Rule: "site", Origin: "edge-b", Version: 1, Since: now.Add(-time.Second), Until: now.Add(time.Hour),
				})
				text, err := r.Encode()
				if err != nil {
					t.Fatal(err)
				}
				return text
			}
			if _, err := l.publisher.call(ctx, []any{now.UnixMilli(), key("203.0.113.7").Prefix.String(), record("203.0.113.7"), ""}); err != nil {
				t.Fatal(err)
			}
			program.Eventually(t, "the list", func() bool { return l.look(t) })
			before := l.stats.syncs.Load()
			if err := harm(s, record("203.0.113.8")); err != nil {
				t.Fatal(err)
			}
			signal(l.list.resync) // as one that joins
			beats := 0
			for fit := 0; fit < 3 && beats < 40; beats++ {
				if fit++; !l.look(t) {
					fit = 0
				}
			}
			if reads := l.stats.syncs.Load() - before; beats == 40 || reads > 4 {
				t.Errorf("%d full reads in %d heartbeats", reads, beats)
			}
		})
	}
}

// TestRepairOnlyTheSameList: repair touches neither a list that has changed nor
// a digest that another node has set.
func TestRepairOnlyTheSameList(t *testing.T) {
	b := newBoth(t, "repair")
	now, state := time.Now(), newNames("t", 1).state
	const none, one, two = "0000000000000000", "fedcba9876543210", "0123456789abcdef"
	for _, c := range []struct {
		args []string
		want int64
	}{
		{[]string{"1", none, one}, 0},
		{[]string{"0", two, one}, 0},
		{[]string{"0", none, one}, 1},
		{[]string{"0", none, two}, 0},
		{[]string{"0", one, two}, 1},
		{[]string{"0", two, none}, 1},
	} {
		if got := b.call(now, "repair", []string{state}, c.args); got != c.want {
			t.Errorf("%q: %v, not %d", c.args, got, c.want)
		}
	}
}

// TestListThatWentBackIsReconciled: a Redis that lost blocks may have lost
// counts.
func TestListThatWentBackIsReconciled(t *testing.T) {
	m := newMember(t, testConfig("127.0.0.1:1", "edge-a"))
	l, err := New(m.config, testPeer{m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.client.Close() })
	ctx := context.Background()
	m.see("203.0.113.7", 7)
	push, ok := m.counts.FullPush(key("203.0.113.7"), time.Now())
	if !ok {
		t.Fatal("no push")
	}
	m.counts.Answered(&push, aggregator.Answer{Peak: 7, Total: 7}, time.Now())
	m.counts.Reconcile(time.Now(), 10)
	l.list.mirror.Begin(5)
	l.drift.compare(ctx, fleet.State{Changes: 5})
	if again, _ := m.counts.Reconcile(time.Now(), 10); len(l.pushes.wake) != 0 || len(again) != 0 {
		t.Fatal("an unchanged list is pushed again")
	}
	l.drift.compare(ctx, fleet.State{Changes: 4})
	if again, _ := m.counts.Reconcile(time.Now(), 10); len(l.pushes.wake) != 1 || len(l.list.resync) != 1 || len(again) != 1 {
		t.Errorf("after the list went back: %v", again)
	}
}

// A heartbeat says what the node holds, but not while the node reads a list whose
// version the heartbeat names already.
func TestHeldOfTheVersion(t *testing.T) {
	t.Parallel()
	l := alone(t, startRedis(t, redistest.Options{}))
	l.list.mirror.Begin(5)
	if h := l.beats.own(); h.Held != nil || h.Changes != 5 {
		t.Errorf("during a full read: %v held at version %d", h.Held, h.Changes)
	}
	l.list.mirror.DropUnread()
	if h := l.beats.own(); h.Held == nil || *h.Held != 0 || h.Changes != 5 {
		t.Errorf("after it: %v held at version %d", h.Held, h.Changes)
	}
}
