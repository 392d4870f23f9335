package redis

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// byHand is a block that an operator made on a member.
func (m *member) byHand(prefix string) edgeguard.Block {
	p, now := netip.MustParsePrefix(prefix), time.Now()
	return edgeguard.Block{
		Prefix: p, Rule: "manual", Reason: "by hand", Origin: m.name,
		Since: now, Until: now.Add(time.Hour), Version: m.list.Version(p) + 1,
	}
}

// TestForcedTravels: a forced block, wider than an unforced one may be, is in
// force on the other nodes, on one that joins late, and after Redis was
// emptied, whichever node publishes it again. It can be lifted on any node.
func TestForcedTravels(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 2, nil)
	a, b := fleet[0], fleet[1]
	const wide, inside = "198.0.0.0/8", "198.51.100.7"
	if _, err := a.list.Merge(a.byHand(wide), time.Now()); err == nil {
		t.Fatal("a /8 is blocked without force")
	}
	if changed, err := a.list.Force(a.byHand(wide), time.Now()); !changed || err != nil {
		t.Fatal(changed, err)
	}
	inForce := func(m *member) {
		t.Helper()
		m.eventually(t, "the forced block", func() bool { return m.blocked(inside) != nil })
		if !m.list.Trust(netip.MustParsePrefix(wide)).Forced {
			t.Errorf("%s does not know that it was forced", m.name)
		}
	}
	inForce(b)
	a.stop()
	if err := s.Client().FlushAll(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	program.Eventually(t, "the other node to tell of it", func() bool {
		return s.Client().HExists(context.Background(), newNames("test", 4).blocks, wide).Val()
	})
	late := newMember(t, testConfig(s.Addr, "edge-c")).start(t)
	inForce(late)
	late.list.Lift(netip.MustParsePrefix(wide), time.Now(), "enough", late.name)
	b.eventually(t, "the unblock", func() bool { return b.blocked(inside) == nil })
	for _, m := range []*member{b, late} {
		if n := m.link.Stats().Rejected; n != 0 {
			t.Errorf("%s refused %d records", m.name, n)
		}
	}
}

// TestWideUnforcedIsRefused: a wide prefix that was not forced, as a
// compromised node could write it, is in force nowhere and raises an alarm.
func TestWideUnforcedIsRefused(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 2, nil)
	for _, p := range []string{"198.0.0.0/15", "2001::/31", "198.51.0.0/16"} {
		fleet[0].link.Changed(fleet[0].byHand(p), blocklist.Trust{})
	}
	for _, m := range fleet {
		m.eventually(t, "the block that is not too wide", func() bool { return m.blocked("198.51.100.7") != nil })
		for addr, prefix := range map[string]string{"198.1.0.1": "198.0.0.0/15", "2001::1": "2001::/31"} {
			if m.blocked(addr) != nil || !strings.Contains(m.alarmed("rejected/"+prefix), "not forced") {
				t.Errorf("%s: %s is blocked: %v; alarmed %q", m.name, prefix, m.blocked(addr), m.alarmed("rejected/"+prefix))
			}
		}
	}
}
