package shard

import (
	"math"
	"testing"

	"edgeguard/internal/fulltest"
	"edgeguard/ring"
)

// TestFull drives tables of all kinds into one budget that cannot hold their
// keys: the cap holds at every moment, and no count is ever too high.
func TestFull(t *testing.T) {
	var sum Stats
	for _, cost := range []uint16{0, 300} { // too many keys, and too many rings
		s := overfill(t, 1<<20, cost)
		sum.Evicted += s.Evicted
		sum.Refused += s.Refused
		sum.Undercounted += s.Undercounted
	}
	if sum.Evicted == 0 || sum.Refused == 0 || sum.Undercounted == 0 {
		t.Errorf("the budget was to be too small: %+v", sum)
	}
}

// overfill makes each event dearer by cost: at 300 every key wants a ring.
func overfill(t *testing.T, budget int64, cost uint16) (sum Stats) {
	r := &traffic{Rand: random(t), past: 1000, keys: 60_000}
	mem := NewMemory(budget)
	var tables []*Table
	var logs []*log
	for _, c := range configs {
		tables = append(tables, New(mem, c.Config))
		logs = append(logs, newLog(c.Config))
	}
	for i := range 150_000 {
		op := r.op()
		op.Cost += min(cost, ring.Max-op.Cost)
		n := r.IntN(len(tables))
		got, most := tables[n].Add(&op), logs[n].add(&op)
		forgot := most.Late && !got.Late // an evicted key's newest slot is forgotten with it
		if got.Count > most.Count && !forgot {
			t.Fatalf("%s, event %d, %+v: got %+v, more than %+v", configs[n].name, i, op, got, most)
		}
		if !got.Late && got.Count < uint32(op.Cost) && got.Count < ring.Max {
			t.Fatalf("%s, event %d, %+v: got %+v, less than the event's cost", configs[n].name, i, op, got)
		}
		if used := mem.Stats().Used; used > budget {
			t.Fatalf("event %d: %d bytes of a budget of %d", i, used, budget)
		}
		if i%1000 == 0 {
			tables[n].Sweep(r.past, 20)
		}
	}
	for _, table := range tables {
		s := table.Stats()
		sum.Evicted += s.Evicted
		sum.Refused += s.Refused
		sum.Undercounted += s.Undercounted
		table.Close()
	}
	if s := mem.Stats(); s.KeyPages != 0 || s.RingPages != 0 {
		t.Errorf("all tables are closed, but %+v", s)
	}
	return sum
}

// TestNoRoomAtAll is a budget below one page.
func TestNoRoomAtAll(t *testing.T) {
	for _, budget := range []int64{-1, 0, 1, pageSize, 3 * pageSize, 64 << 10} {
		mem := NewMemory(budget)
		table := New(mem, Config{})
		for i := range uint32(5000) {
			if got := table.Add(&Op{Addr: address(i), Now: 1, Slot: 1, Cost: 2}); got.Count < 2 {
				t.Fatalf("budget %d: got %+v", budget, got)
			}
		}
		if used := mem.Stats().Used; used > max(budget, 0) {
			t.Errorf("budget %d: %d bytes", budget, used)
		}
	}
}

// TestNobodyIsPinned fills a table with hot keys, lets them go idle, and
// expects that others find room without a sweep.
func TestNobodyIsPinned(t *testing.T) {
	fulltest.Only(t)
	mem := NewMemory(512 << 10)
	table := New(mem, Config{})
	for i := range uint32(60_000) {
		for range 10 {
			table.Add(&Op{Addr: address(i), Now: 1000, Slot: 1000, Cost: 50})
		}
	}
	later := uint32(1000 + ring.Slots)
	for round := range 3 {
		for i := range uint32(1000) {
			op := Op{Addr: address(1_000_000 + i), Now: later, Slot: later, Cost: 1}
			if got := table.Add(&op); got.Count < uint32(round) {
				t.Fatalf("round %d, key %d: got %+v", round, i, got)
			}
		}
	}
}

// TestSecondTable starts a table after another has filled the budget.
func TestSecondTable(t *testing.T) {
	fulltest.Only(t)
	mem := NewMemory(4 << 20)
	first, second := New(mem, Config{Seed: 1}), New(mem, Config{Seed: 2})
	for i := range uint32(400_000) {
		first.Add(&Op{Addr: address(i), Now: 1000, Slot: 1000, Cost: 1})
	}
	if first.Stats().Refused == 0 {
		t.Fatal("the first table was to fill the budget")
	}
	for want := range uint32(50) {
		for i := range uint32(60) {
			if got := second.Add(&Op{Addr: address(i), Now: 1000, Slot: 1000, Cost: 1}); got.Count != want+1 {
				t.Fatalf("key %d: got %+v, want %d", i, got, want+1)
			}
		}
	}
}

// TestSketch holds the estimates: never too low while a half lives, bounded
// when it is crowded, and forgotten after two.
func TestSketch(t *testing.T) {
	s := &sketch{}
	s.planSize(1 << 20)
	r := random(t)
	for i := range uint64(10) {
		h := r.Uint64()
		for n := range uint32(300) {
			if got := s.raise(h, 1); got < min(n+1, math.MaxUint8) {
				t.Fatalf("key %d: after %d the estimate is %d", i, n+1, got)
			}
		}
	}
	h := r.Uint64()
	s.keepHeat(h, 40)
	if got := s.raise(h, 2); got < 42 {
		t.Errorf("held at 40, raised by 2: %d", got)
	}
	tooHigh := 0
	for range s.cells * stripes / 8 {
		if s.raise(r.Uint64(), 1) > 1 {
			tooHigh++
		}
	}
	if most := s.cells * stripes / 8 / 20; tooHigh > most {
		t.Errorf("an eighth full, %d estimates too high, at most %d were expected", tooHigh, most)
	}
	for range s.cells * stripes * 3 {
		s.raise(r.Uint64(), 1)
	}
	if got := s.raise(h, 1); got > 20 {
		t.Errorf("two halves later the estimate is %d", got)
	}
	if got, limit := s.taken.Load(), int64(1<<20); got > limit {
		t.Errorf("%d bytes of %d", got, limit)
	}
}
