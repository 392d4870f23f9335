package hugepage

import (
	"net/netip"
	"testing"

	"edgeguard/shard"
)

// TestMemory: tables count in it, and stay under its limit.
func TestMemory(t *testing.T) {
	const limit = 8 << 20
	mem := Memory(limit)
	table := shard.New(mem, shard.Config{})
	for i := range 500_000 {
		addr := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		table.Add(&shard.Op{Addr: addr, Now: 100, Slot: 100, Cost: 1})
	}
	if s := mem.Stats(); s.Used == 0 || s.Used > limit {
		t.Errorf("%d bytes used of %d", s.Used, limit)
	}
	if s := table.Stats(); s.Keys == 0 {
		t.Errorf("no key was kept: %+v", s)
	}
}
