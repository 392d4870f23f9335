package shard

import (
	"net/netip"
	"testing"

	"edgeguard/ring"
)

// TestOracleOfHeads: one key of each layout, counted, asked, cleared, swept and brought
// over into another table, with steps of time about the window and about 256 slots,
// where the eight bits of a pair's slot wrap, counts as the slow twin does.
func TestOracleOfHeads(t *testing.T) {
	steps := [...]uint32{0, 0, 0, 0, 0, 0, 1, 1, 2, 30, 58, 59, 60, 61, 195, 196, 197, 255, 256, 257, 512}
	for _, c := range []Config{{}, {Peaks: true}, {With: true}, {V6: 128}, {V4: 24, V6: 48}} {
		for _, addr := range []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1"), netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
			r := random(t)
			table, want := New(NewMemory(4<<20), c), newLog(c)
			now, swept := uint32(1000), uint32(0)
			for i := range 20_000 {
				now += steps[r.IntN(len(steps))]
				op := Op{Addr: addr, Now: now, Slot: now, Cost: 1}
				switch r.IntN(12) {
				case 0:
					op.Slot -= r.Uint32N(ring.Slots + 3)
				case 1:
					op.Cost = uint16(r.IntN(300))
				case 2:
					op.Now = max(op.Now-r.Uint32N(3), swept) // of another goroutine, that took the clock before
					op.Slot = op.Now
				}
				if got, n := table.Add(&op), want.add(&op); got != n {
					t.Fatalf("%+v, event %d, %+v: got %+v, want %+v", c, i, op, got, n)
				}
				switch r.IntN(200) {
				case 0:
					table.Clear(addr, "")
					want = newLog(c)
				case 1:
					if !c.Peaks { // which keep idle keys, and so their heads
						table.Sweep(now, 1000)
						swept = now // no event may follow from before
					}
				case 2:
					table = restored(table, c)
				}
			}
		}
	}
}

// restored returns a table that was filled with the windows of another.
func restored(from *Table, c Config) *Table {
	to := New(NewMemory(4<<20), c)
	from.Windows(func(prefix netip.Prefix, with uint64, head uint32, counts *ring.Counts) bool {
		to.Restore(prefix, with, head, counts)
		return true
	})
	return to
}
