package redis

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/clockguard"
	"edgeguard/internal/redistest"
	"edgeguard/shard"
)

// TestClaimedTime: a claimed namespace accepts pushes of any year, returns its
// watch list without waiting, and leaves nothing but counts.
func TestClaimedTime(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	ctx := context.Background()
	m, p := pusherOf(t, s, "edge-a", nil)
	long := time.Unix(1_300_000_000, 0)
	m.counts = aggregator.New(aggregator.Config{
		Meters: []aggregator.Meter{{Fingerprint: testMeter, Width: testWidth, Limit: testLimit, Table: m.table}},
		Boot:   long, Nodes: 2, MaxNodes: 2, Quiet: true,
	})
	see := func(addr string, n int) {
		slot := clockguard.Slot(long, testWidth)
		op := shard.Op{Addr: netip.MustParseAddr(addr), Cost: uint16(n), Now: slot, Slot: slot}
		m.counts.Count(0, &op, m.table.Add(&op).Count)
	}
	see("203.0.113.1", 60)
	see("203.0.113.2", 70)
	if err := p.Round(ctx, long); err == nil || !strings.Contains(err.Error(), "EDGEGUARD clock") {
		t.Fatalf("a push of 2011 before the claim: %v", err)
	}
	if err := p.Claim(ctx); err == nil || !strings.Contains(err.Error(), "+set") || m.config.diagnose(err).Kind != "permission" {
		t.Fatalf("a node's user claims: %v", err)
	}
	if err := s.Client().Do(ctx, "acl", "setuser", "edge", "+set").Err(); err != nil {
		t.Fatal(err)
	}
	if err := p.Claim(ctx); err != nil {
		t.Fatal(err)
	}
	if keys, after, err := p.Watched(ctx, "0"); len(keys) != 0 || after != "0" || err != nil {
		t.Fatalf("%v, %q, %v on a watch list that is not there", keys, after, err)
	}
	m.counts.ReconcileAll()
	if err := p.Round(ctx, long); err != nil {
		t.Fatal(err)
	}
	keys, after, err := p.Watched(ctx, "0")
	slices.SortFunc(keys, func(a, b aggregator.Key) int { return a.Prefix.Addr().Compare(b.Prefix.Addr()) })
	if want := []aggregator.Key{key("203.0.113.1"), key("203.0.113.2")}; !slices.Equal(keys, want) || err != nil {
		t.Fatalf("%v, %v are watched, not %v", keys, err, want)
	}
	if keys, again, err := p.Watched(ctx, after); len(keys) != 0 || again != after || err != nil {
		t.Fatalf("%v, %q, %v after the newest", keys, again, err)
	}
	if err := p.RemoveClaim(ctx); err != nil {
		t.Fatal(err)
	}
	for _, left := range s.Client().Keys(ctx, "*").Val() {
		if !strings.Contains(left, "}:k:") {
			t.Errorf("%q is left", left)
		}
	}
	see("203.0.113.1", 1)
	if err := p.Round(ctx, long); err == nil {
		t.Error("the claim is left")
	}
}

// TestClaimedFaults: each error says what failed, and Explain how to fix it.
func TestClaimedFaults(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	ctx := context.Background()
	m, p := pusherOf(t, s, "edge-a", nil)
	s.Kill()
	_, after, watch := p.Watched(ctx, "7-0")
	if after != "7-0" {
		t.Errorf("the place moved to %q", after)
	}
	for what, err := range map[string]error{"claim": p.Claim(ctx), "watch list": watch, "remove": p.RemoveClaim(ctx)} {
		if err == nil || !strings.HasPrefix(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		} else if text := m.config.Explain(err).Error(); !strings.Contains(text, "cannot be reached") {
			t.Errorf("%s: %s", what, text)
		}
	}
}
