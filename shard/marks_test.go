package shard

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"edgeguard/internal/fulltest"
	"edgeguard/ring"
)

// TestMarksFull drives tables of marks into a budget that cannot hold them: no count is
// above the twin's, the cap holds, and no block is lost.
func TestMarksFull(t *testing.T) {
	fulltest.Only(t)
	var sum Stats
	for _, run := range []struct {
		budget       int64
		keys, values int
	}{{1 << 20, 60_000, 3}, {256 << 10, 3000, 60}, {128 << 10, 40, 2000}} {
		r := &traffic{Rand: random(t), past: 1000, keys: run.keys}
		mem := NewMemory(run.budget)
		var tables []*Table
		var twins []*sights
		for _, c := range distinct() {
			tables = append(tables, New(mem, c))
			twins = append(twins, newSights(c))
		}
		for i := range 100_000 {
			op := show(r.Rand, r.op(), run.values)
			n := r.IntN(len(tables))
			got, most := tables[n].Add(&op), twins[n].add(&op)
			if got.Count > most.Count || got.Added > 1 || uint32(got.Added) > got.Count {
				t.Fatalf("%s, event %d, %+v: got %+v, the twin has %+v", configs[n].name, i, op, got, most)
			}
			if !got.Late && got.Count < uint32(op.Cost) {
				t.Fatalf("%s, event %d, %+v: got %+v, without the event's own value", configs[n].name, i, op, got)
			}
			if used := mem.Stats().Used; used > run.budget {
				t.Fatalf("event %d: %d bytes of a budget of %d", i, used, run.budget)
			}
			if i%1000 == 0 {
				tables[n].Sweep(r.past, 20)
				twins[n].of(&op).trim()
			}
		}
		for i, table := range tables {
			s := table.Stats()
			if s.Rings != blocksIn(table) {
				t.Errorf("%s: %d blocks are counted, %d are there", configs[i].name, s.Rings, blocksIn(table))
			}
			sum.Evicted += s.Evicted + s.Refused
			sum.Undercounted += s.Undercounted
			table.Close()
		}
		if s := mem.Stats(); s.KeyPages != 0 || s.RingPages != 0 {
			t.Errorf("closed tables hold %+v", s)
		}
	}
	if sum.Evicted == 0 || sum.Undercounted == 0 {
		t.Errorf("the budgets were to be too small: %+v", sum)
	}
}

// TestSaturation: a key with values without end shows each up to MaxDistinct, never more
// than there are, and not fewer than MaxDistinct until they leave the window.
func TestSaturation(t *testing.T) {
	mem := NewMemory(4 << 20)
	table := New(mem, Config{Distinct: true, Seed: 7})
	addr := netip.MustParseAddr("192.0.2.1")
	greatest := uint32(0)
	for i := range uint32(20_000) {
		now := 1000 + i/200
		got := table.Add(&Op{Addr: addr, Now: now, Slot: now, Cost: 1, Value: uint64(i) + 1})
		want := i + 1 - min(i+1, max(now-min(now, 1059), 0)*200)
		switch {
		case got.Count > want:
			t.Fatalf("value %d: count %d, there are %d", i, got.Count, want)
		case i < MaxDistinct && got != Count{Count: i + 1, Added: 1}:
			t.Fatalf("value %d: %+v", i, got)
		case i >= MaxDistinct && got.Count < MaxDistinct:
			t.Fatalf("value %d: only %d of %d", i, got.Count, want)
		}
		greatest = max(greatest, got.Count)
	}
	if greatest < 800 || greatest > marksInBlock*marksInBlock {
		t.Errorf("at most %d values were shown", greatest)
	}
	if s := table.Stats(); s.Undercounted != 0 {
		t.Errorf("memory was not short: %+v", s)
	}
	empties(t, mem, table)
}

// TestSeldomLow: values of texts are too low by fingerprints alone, and seldom. Two of n
// values have one fingerprint in n(n-1)/2 of 2^26 keys: 4.8 of these 4,000, and 19 if a
// fingerprint had 24 bits.
func TestSeldomLow(t *testing.T) {
	fulltest.Only(t)
	const keys, values = 4000, MaxDistinct
	table := New(NewMemory(64<<20), Config{Distinct: true, Seed: 7})
	var paths [values]string
	for i := range paths {
		paths[i] = fmt.Sprintf("/%d.php", i)
	}
	low := 0
	for key := range keys {
		var got Count
		for _, path := range paths {
			got = table.Add(&Op{Addr: numbered(10, key), Now: 1000, Slot: 1000, Cost: 1, Value: Value(uint64(key), path)})
		}
		if got.Count > values || got.Count < values-2 {
			t.Fatalf("%d values show as %d", values, got.Count)
		}
		low += int(values - got.Count)
	}
	if low == 0 || low > 10 {
		t.Errorf("%d of %d counts of %d are too low, want about 5", low, keys, values)
	}
}

// TestBlocksReturn: each way in which values go gives their blocks back.
func TestBlocksReturn(t *testing.T) {
	const now = 1000
	fill := func(t *Table, values int) {
		for key := range byte(40) {
			for v := range values {
				t.Add(&Op{Addr: netip.AddrFrom4([4]byte{10, 0, 0, key}), Now: now, Slot: now, Cost: 1, Value: uint64(v) + 1})
			}
		}
	}
	ways := map[string]func(*Table){
		"sweep": func(t *Table) { t.Sweep(now+ring.Slots, 10_000) },
		"clear": func(t *Table) {
			for key := range byte(40) {
				t.Clear(netip.AddrFrom4([4]byte{10, 0, 0, key}), "")
			}
		},
		"sweep of the idle": func(t *Table) {
			for key := range byte(40) { // one value each is left
				t.Add(&Op{Addr: netip.AddrFrom4([4]byte{10, 0, 0, key}), Now: now + ring.Slots, Slot: now + ring.Slots, Cost: 1, Value: 3})
			}
			t.Sweep(now+ring.Slots, 10_000)
		},
		"close": (*Table).Close,
	}
	for name, way := range ways {
		for _, peaks := range []bool{false, true} {
			for _, values := range []int{3, 30, 31, 70, 400, 1000} {
				mem := NewMemory(8 << 20)
				table := New(mem, Config{Distinct: true, Peaks: peaks})
				fill(table, values)
				if s := table.Stats(); s.Rings == 0 || s.Rings != blocksIn(table) {
					t.Fatalf("%d values: %d blocks, and %d counted", values, blocksIn(table), s.Rings)
				}
				way(table)
				if s, m := table.Stats(), mem.Stats(); s.Rings != 0 || m.RingPages != 0 {
					t.Errorf("%s, %d values, peaks %t: %d blocks, %d pages of them", name, values, peaks, s.Rings, m.RingPages)
				}
			}
		}
	}
}

// TestTreesShrink: a sweep leaves a key that showed many values no more blocks than those
// that it still has in the window, and loses none of these.
func TestTreesShrink(t *testing.T) {
	table := New(NewMemory(8<<20), Config{Distinct: true})
	addr := netip.MustParseAddr("2001:db8::1")
	for i := range uint32(400) {
		now := 1000 + i/40
		table.Add(&Op{Addr: addr, Now: now, Slot: now, Cost: 1, Value: uint64(i) + 1})
	}
	for now := uint32(1010); now < 1075; now++ {
		before := table.Count(addr, "", now)
		table.Sweep(now, 1000)
		blocks := table.Stats().Rings
		if got := table.Count(addr, "", now); got != before {
			t.Fatalf("the sweep at %d makes %d of %d values", now, got, before)
		}
		if before <= 2 && blocks > 0 || before <= 15 && blocks > 1 {
			t.Errorf("%d values in %d blocks", before, blocks)
		}
	}
	if got := table.Stats().Keys; got != 0 {
		t.Errorf("%d keys are left", got)
	}
}

// TestMarksBatch holds AddBatch to the answers of Add.
func TestMarksBatch(t *testing.T) {
	for i, c := range distinct() {
		for _, budget := range []int64{256 << 10, 64 << 20} {
			t.Run(configs[i].name, func(t *testing.T) {
				r := &traffic{Rand: random(t), past: 1000, keys: 5000}
				one, many := New(NewMemory(budget), c), New(NewMemory(budget), c)
				for range 300 {
					ops := make([]Op, r.IntN(200))
					for i := range ops {
						if ops[i] = show(r.Rand, r.op(), 1+r.IntN(100)); i > 0 && r.IntN(4) == 0 {
							ops[i].Addr = ops[r.IntN(i)].Addr
						}
					}
					var want []Count
					for i := range ops {
						want = append(want, one.Add(&ops[i]))
					}
					got := make([]Count, len(ops))
					many.AddBatch(ops, got)
					if !slices.Equal(got, want) {
						t.Fatalf("got %v\nwant %v", got, want)
					}
					if r.IntN(20) == 0 {
						one.Sweep(r.past, 50)
						many.Sweep(r.past, 50)
					}
				}
				if one.Stats() != many.Stats() {
					t.Errorf("one by one %+v, in batches %+v", one.Stats(), many.Stats())
				}
			})
		}
	}
}

// TestMarksAllocate: counting a value allocates nothing, however many there are.
func TestMarksAllocate(t *testing.T) {
	mem := NewMemory(8 << 20)
	table := New(mem, Config{Distinct: true})
	ops, out := make([]Op, 100), make([]Count, 100)
	n := uint32(0)
	run := func() {
		for i := range ops {
			n++
			now := 1000 + n/100
			ops[i] = Op{Addr: numbered(1, i%10), Now: now, Slot: now, Cost: 1, Value: Value(1, "/login") + uint64(n)}
			table.Add(&ops[i])
		}
		table.AddBatch(ops, out)
		table.Sweep(1000+n/100, 5)
	}
	for range 100 {
		run() // the chunks
	}
	if got := testing.AllocsPerRun(100, run); got > 0 {
		t.Errorf("%v allocations", got)
	}
}
