package redis

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/redistest"
)

// In a rolling upgrade a node of the version before keeps blocks by rules of its node alone,
// and their lifts, to itself, and takes those of others. Full reads of the list by either
// change nothing and publish nothing; once it is upgraded, what it kept goes to all.
func TestUpgradeDoesNotFlap(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 2, nil)
	upgraded, old := fleet[0], fleet[1]
	const rule, lifted, kept, both = "of-a-node", "192.0.2.1", "192.0.2.2", "192.0.2.3"
	old.mu.Lock()
	old.keeps = rule
	old.mu.Unlock()
	block := func(m *member, addr string, minutes int) {
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(addr + "/32"), Rule: rule, Origin: m.name, Version: 1, Since: time.Now(), Until: time.Now().Add(time.Duration(minutes) * time.Minute)}
		if _, err := m.list.Merge(b, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	block(old, kept, 20)
	block(old, both, 30)
	block(upgraded, both, 20)
	block(upgraded, lifted, 20)
	old.eventually(t, "the block of the other node", func() bool { return old.blocked(lifted) != nil })
	if _, ok := old.list.Lift(netip.MustParsePrefix(lifted+"/32"), time.Now(), "a mistake", old.name); !ok {
		t.Fatal("nothing was lifted")
	}
	reread := func() {
		t.Helper()
		for _, m := range fleet {
			before := m.link.Stats().Syncs
			m.link.Resync()
			m.eventually(t, "a full read", func() bool { return m.link.Stats().Syncs > before })
		}
	}
	published := func() uint64 { return upgraded.link.Stats().Published + old.link.Stats().Published }
	upgraded.eventually(t, "its blocks to be published", func() bool { return published() == 2 })
	for range 3 {
		reread()
		if upgraded.blocked(lifted) == nil || old.blocked(lifted) != nil || upgraded.blocked(kept) != nil || old.blocked(kept) == nil {
			t.Fatal("a full read changed what is in force")
		}
		if n := published(); n != 2 {
			t.Fatalf("%d records were published, want the two of the upgraded node", n)
		}
	}
	old.mu.Lock()
	old.keeps = ""
	old.mu.Unlock()
	reread()
	upgraded.eventually(t, "the lift and the blocks that the node had kept", func() bool {
		b := upgraded.blocked(both)
		return upgraded.blocked(lifted) == nil && upgraded.blocked(kept) != nil && b != nil && b.Origin == old.name
	})
}
