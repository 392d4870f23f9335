package aggregator

import (
	"math/rand/v2"
	"testing"
	"time"

	"edgeguard/ring"
	"edgeguard/shard"
)

// untilBench is a bench whose visitor has counts here, a floor, and what was heard since, all at
// random, and the naive twin of what is left of each in the window that ends at a slot.
func untilBench(t testing.TB, rnd *rand.Rand) (b *bench, left func(slot uint32) (here, floor, heard uint32)) {
	b = newBench(t, nil)
	b.Totals.meters[0].Renews, b.Totals.meters[0].Limit = 100, 100
	var own, others, told [3 * ring.Slots]uint32 // from a window before the boot on
	first := slotOf(boot) - ring.Slots
	fill := func(n *[3 * ring.Slots]uint32, from, to int) {
		for i := from; i < to; i++ {
			if rnd.IntN(3) == 0 {
				n[i] = uint32(rnd.IntN(8))
			}
		}
	}
	fill(&own, 1, 80)
	fill(&others, 1, 61)
	fill(&told, 61, 80)
	f := remainder{at: first + 60, head: first + 79}
	for i := range uint32(ring.Slots) {
		f.leaves[i] = uint16(others[1+i])
	}
	for i := uint32(61); i < 80; i++ {
		f.heard.Add(first+i, uint16(told[i]))
	}
	for i, n := range own {
		op := shard.Op{Addr: visitor, Now: first + uint32(i), Slot: first + uint32(i), Cost: uint16(n)}
		if n > 0 {
			b.Count(0, &op, b.table.Add(&op).Count)
		}
	}
	id, _ := b.suspectOf(Key{Meter: 7, Prefix: b.Totals.meters[0].prefix(visitor)})
	b.partOf(id).keepFloor(id, &f)
	window := func(n *[3 * ring.Slots]uint32, slot uint32) (sum uint32) {
		for i := range uint32(ring.Slots) {
			if at := slot - i - first; at < uint32(len(n)) {
				sum += n[at]
			}
		}
		return sum
	}
	return b, func(slot uint32) (here, floor, heard uint32) {
		return window(&own, slot), window(&others, slot), window(&told, slot)
	}
}

// Until is what adding up the windows one by one says, for any limit.
func TestUntil(t *testing.T) {
	for seed := range uint64(300) {
		b, left := untilBench(t, rand.New(rand.NewPCG(seed, 1)))
		now := slotOf(boot) + 19 + uint32(seed%3)
		for limit := range uint32(400) {
			var least, most uint32
			for i := uint32(ring.Slots); i > 0 && least == 0; i-- {
				here, floor, heard := left(now + i - 1)
				if most == 0 && here+floor+heard > limit {
					most = i
				}
				if here+floor > limit {
					least = i
				}
			}
			gotLeast, gotMost := b.Until(0, &shard.Op{Addr: visitor, Now: now, Slot: now}, limit)
			if gotMost != most || gotLeast != least {
				t.Fatalf("seed %d, limit %d: at least %d, at most %d slots, want %d and %d", seed, limit, gotLeast, gotMost, least, most)
			}
		}
	}
}

// What only one answer has stays for a window from then on, and is not proven.
func TestUntilOfAnAnswer(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 10)
	answeredBy(t, b, boot, 60)
	later := boot.Add(20 * width * time.Second)
	b.hit(visitor, later, 50)
	if least, most := b.Until(0, &shard.Op{Addr: visitor, Now: slotOf(later)}, 55); least != 40 || most != 40 {
		t.Errorf("%d and %d slots, want until what is here has fallen", least, most)
	}
	if least, most := b.Until(0, &shard.Op{Addr: visitor, Now: slotOf(later)}, 70); least != 0 || most != 40 {
		t.Errorf("%d and %d slots, want the 50 elsewhere to stay for a window from the answer on", least, most)
	}
	if allocs := testing.AllocsPerRun(100, func() { b.Until(0, &shard.Op{Addr: visitor, Now: slotOf(later)}, 70) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// An answer that has less takes back what was heard longest ago; after a window it has left.
func TestHear(t *testing.T) {
	var f remainder
	f.hear(100, 30, 30)
	f.hear(110, 50, 60)
	f.hear(115, 10, 25)
	later := f
	later.hear(175, 30, 100)
	if later.heard.Sum() != 30 || later.heard[175%ring.Slots] != 30 {
		t.Errorf("a window later: %v", later.heard)
	}
	if f.heard.Sum() != 25 || f.heard[100%ring.Slots] != 5 || f.heard[110%ring.Slots] != 20 {
		t.Errorf("%v", f.heard)
	}
}

func BenchmarkUntil(b *testing.B) {
	n, _ := untilBench(b, rand.New(rand.NewPCG(1, 1)))
	op := shard.Op{Addr: visitor, Now: slotOf(boot) + 19}
	b.ReportAllocs()
	for b.Loop() {
		n.Until(0, &op, 100)
	}
}
