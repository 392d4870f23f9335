package shard

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"edgeguard/ring"
)

// TestWindows: a table that is filled from another's windows has the same
// counts, whatever their keys and forms, and goes on counting.
func TestWindows(t *testing.T) {
	for _, c := range []Config{{}, {V6: 128}, {With: true}, {Peaks: true}} {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		from, to := New(NewMemory(16<<20), c), New(NewMemory(16<<20), c)
		now := uint32(1000)
		var ops []Op
		for range 20_000 {
			if r.IntN(100) == 0 {
				now++
			}
			op := Op{Now: now, Slot: now - r.Uint32N(70), Cost: uint16(1 + r.IntN(400)*r.IntN(2))}
			op.Addr = netip.AddrFrom4([4]byte{10, 0, byte(r.IntN(4)), byte(r.IntN(100))})
			if r.IntN(3) == 0 {
				op.Addr = netip.AddrFrom16([16]byte{0x20, 1, byte(r.IntN(60)), 15: byte(r.IntN(3))})
			}
			if c.With {
				op.With = fmt.Sprint(r.IntN(3))
			}
			ops = append(ops, op)
			from.Add(&op)
		}
		from.Windows(func(prefix netip.Prefix, with uint64, head uint32, counts *ring.Counts) bool {
			to.Restore(prefix, with, head, counts)
			return true
		})
		for i := range ops {
			op := &ops[i]
			for _, at := range []uint32{now, now + 20} {
				want, got := from.Count(op.Addr, op.With, at), to.Count(op.Addr, op.With, at)
				if want != got {
					t.Fatalf("%+v, seed %d: %s %q has %d at %d, want %d", c, seed, op.Addr, op.With, got, at, want)
				}
			}
		}
		if a, b := from.Stats().Keys, to.Stats().Keys; b > a {
			t.Errorf("%+v, seed %d: %d keys became %d", c, seed, a, b)
		}
	}
}

// TestWindowsStop: yield ends the walk.
func TestWindowsStop(t *testing.T) {
	table := New(NewMemory(4<<20), Config{})
	for i := range byte(50) {
		table.Add(&Op{Addr: netip.AddrFrom4([4]byte{10, 0, 0, i}), Now: 5, Slot: 5, Cost: 1})
	}
	seen := 0
	table.Windows(func(netip.Prefix, uint64, uint32, *ring.Counts) bool { seen++; return seen < 7 })
	if seen != 7 {
		t.Errorf("yield was called %d times, want 7", seen)
	}
}
