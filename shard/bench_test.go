package shard

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"
	"unsafe"
)

const benchKeys = 1 << 20

// addresses returns n distinct addresses in no order.
func addresses(n int) []netip.Addr {
	out := make([]netip.Addr, n)
	for i := range out {
		out[i] = spread(uint32(i))
	}
	return out
}

// clockEvery is how many events share a slot of five seconds: a table that is
// driven at 5 M events a second, about what one core can do.
const clockEvery = 25_000_000

// lcg numbers keys without a table of its own in the cache.
func lcg(x uint64) uint64 { return x*6364136223846793005 + 1442695040888963407 }

// keyOf returns the address that x stands for. It writes the four bytes at
// once: a load of four bytes that were stored one by one waits until they are
// in the cache, behind everything before, and would make the independent
// dependent.
func keyOf(x uint64) netip.Addr {
	return spread(uint32(x >> 33 & (benchKeys - 1)))
}

func spread(i uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], i*2654435761)
	return netip.AddrFrom4(b)
}

const fill = 8 // events of each key, each in a slot of its own: every key has a ring

func filledTable(b *testing.B) *Table {
	t := New(hugeMemory(b, 4<<30), Config{Seed: 42})
	for slot := range uint32(fill) {
		for _, a := range addresses(benchKeys) {
			t.Add(&Op{Addr: a, Now: 1000 + slot, Slot: 1000 + slot, Cost: 1})
		}
	}
	return t
}

func filledObvious() *obvious {
	o := newObvious()
	for slot := range uint32(fill) {
		for _, a := range addresses(benchKeys) {
			o.add(a, 1000+slot, 1000+slot, 1)
		}
	}
	return o
}

const roundOps = 1 << 18

// contestant runs roundOps events, from the total'th on, each key derived
// from the last and, if it is asked to depend, from the last answer.
type contestant struct {
	name string
	run  func(total int)
	took time.Duration
}

// race runs the contestants in turn, so that all see the same noise, and
// reports the mean of each and how many times faster than the first it is.
// The total of events is the clock.
func race(b *testing.B, contestants ...*contestant) {
	b.ReportAllocs()
	total := 0
	for b.Loop() {
		for _, c := range contestants {
			start := time.Now()
			c.run(total)
			c.took += time.Since(start)
		}
		total += roundOps
	}
	b.ReportMetric(0, "ns/op")
	first := contestants[0].took
	for _, c := range contestants {
		b.ReportMetric(float64(c.took.Nanoseconds())/float64(total), c.name+"-ns")
		b.ReportMetric(float64(first)/float64(c.took), c.name+"-x")
	}
}

func slotAt(total int) uint32 { return 1000 + fill + uint32(total/clockEvery) }

func runObvious(o *obvious, depend bool) func(int) {
	x := uint64(1)
	return func(total int) {
		for i := range roundOps {
			now := slotAt(total + i)
			n := o.add(keyOf(x), now, now, 1)
			if x = lcg(x); depend { // a branch: a product with 0 would depend as well
				x += uint64(n)
			}
		}
	}
}

func runTable(t *Table, depend bool) func(int) {
	x := uint64(1)
	op := Op{Cost: 1}
	return func(total int) {
		for i := range roundOps {
			now := slotAt(total + i)
			// Field by field: a literal would be copied in sixteen bytes that
			// were stored in eights, and wait as keyOf says.
			op.Addr, op.Now, op.Slot = keyOf(x), now, now
			n := t.Add(&op).Count
			if x = lcg(x); depend { // a branch: a product with 0 would depend as well
				x += uint64(n)
			}
		}
	}
}

func runBatch(t *Table) func(int) {
	x := uint64(1)
	var ops [64]Op
	var out [64]Count
	return func(total int) {
		for i := 0; i < roundOps; i += len(ops) {
			now := slotAt(total + i)
			for j := range ops {
				op := &ops[j]
				op.Addr, op.Now, op.Slot, op.Cost = keyOf(x), now, now, 1
				x = lcg(x)
			}
			t.AddBatch(ops[:], out[:])
		}
	}
}

// runFloor is what no table can beat: an independent read and write of one
// random cache line of as much memory as the table's keys and rings take.
func runFloor() func(int) {
	memory := make([]uint64, benchKeys*160/8)
	for i := range memory {
		memory[i] = 1
	}
	x := uint64(1)
	return func(int) {
		for range roundOps {
			memory[(x>>32)*uint64(len(memory))>>32]++
			x = lcg(x)
		}
	}
}

// BenchmarkAdd is the figures of design §6. Rounds of events are the unit:
// -benchtime 100x is one slot.
func BenchmarkAdd(b *testing.B) {
	b.Run("independent", func(b *testing.B) {
		race(b,
			&contestant{name: "obvious", run: runObvious(filledObvious(), false)},
			&contestant{name: "table", run: runTable(filledTable(b), false)},
			&contestant{name: "batch", run: runBatch(filledTable(b))},
			&contestant{name: "floor", run: runFloor()})
	})
	b.Run("dependent", func(b *testing.B) {
		race(b,
			&contestant{name: "obvious", run: runObvious(filledObvious(), true)},
			&contestant{name: "table", run: runTable(filledTable(b), true)})
	})
}

// aligned cuts the beginning off, so that memory begins at a multiple of to.
func aligned(memory []byte, to uintptr) []byte {
	off := -uintptr(unsafe.Pointer(unsafe.SliceData(memory))) % to
	return memory[off:]
}
