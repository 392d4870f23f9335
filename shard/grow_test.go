package shard

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"testing"

	"edgeguard/internal/fulltest"
	"edgeguard/ring"
)

// TestGrowAndShrink fills a table, lets it go idle, and expects the memory
// back, time after time.
func TestGrowAndShrink(t *testing.T) {
	fulltest.Only(t)
	mem := NewMemory(256 << 20)
	table := New(mem, Config{Seed: 7})
	now := uint32(1000)
	for round := range 3 {
		const keys = 300_000
		for i := range uint32(keys) {
			table.Add(&Op{Addr: address(i), Now: now, Slot: now, Cost: uint16(1 + i%1000/990*999)})
		}
		if s := table.Stats(); s.Keys != keys || s.Rings < keys/200 {
			t.Fatalf("round %d: %+v", round, s)
		}
		full := mem.Stats()
		now += ring.Slots
		dropped := 0
		for pass := 0; table.Stats().Keys > 0 || mem.Stats().KeyPages > 0; pass++ {
			if pass > 100 {
				t.Fatalf("round %d: never empty: %+v, %+v", round, table.Stats(), mem.Stats())
			}
			dropped += table.Sweep(now, 1000)
		}
		if dropped != keys {
			t.Errorf("round %d: %d keys were forgotten, want %d", round, dropped, keys)
		}
		after := mem.Stats()
		if after.RingPages != 0 || after.Used > full.Used/4 || mem.dirs != 0 {
			t.Errorf("round %d: full %+v, empty %+v", round, full, after)
		}
	}
}

// TestSweepTakesTurns holds that a sweep does not stay in one shard: no decision
// there would get the lock between two pages.
func TestSweepTakesTurns(t *testing.T) {
	table := New(NewMemory(256<<20), Config{Seed: 7})
	for i := range uint32(300_000) {
		table.Add(&Op{Addr: spread(i), Now: 1000, Slot: 1000, Cost: 1})
	}
	f := &table.halves[v4]
	table.Sweep(1000+ring.Slots, len(f.shards))
	for i := range f.shards {
		if f.shards[i].expired == 0 {
			t.Errorf("no page of shard %d was swept by a step of a page a shard", i)
		}
	}
}

// TestGrowthIsBounded holds that one event never moves more than one page's
// entries, whatever the table holds: pages in use grow by one at a time, and
// a split takes what stood in one page.
func TestGrowthIsBounded(t *testing.T) {
	fulltest.Only(t)
	mem := NewMemory(256 << 20)
	table := New(mem, Config{Seed: 8})
	before := 0
	for i := range uint32(400_000) {
		table.Add(&Op{Addr: netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}), Now: 1, Slot: 1, Cost: 1})
		if pages := mem.keys; pages > before+1 {
			t.Fatalf("key %d: %d pages at once", i, pages-before)
		} else {
			before = pages
		}
	}
	if most := table.halves[v4].layout.cap; most > 192 {
		t.Errorf("a split moves %d entries", most)
	}
	deepest := 0
	for i := range table.halves[v4].shards {
		deepest = max(deepest, len(table.halves[v4].shards[i].dir.Load().pages))
	}
	if even := before / len(table.halves[v4].shards); deepest > 8*even+8 {
		t.Errorf("a directory of %d places where %d pages a shard are even", deepest, even)
	}
}

// TestEvenPages holds that keys in any simple order spread evenly, so that
// nobody can choose addresses that meet in one page.
func TestEvenPages(t *testing.T) {
	fulltest.Only(t)
	orders := map[string]func(i uint32) uint32{
		"in sequence":     func(i uint32) uint32 { return i },
		"steps of 256":    func(i uint32) uint32 { return i << 8 },
		"steps of 65,536": func(i uint32) uint32 { return i<<16 | i>>16 },
		"reversed bytes":  func(i uint32) uint32 { return i<<24 | i<<8&0xff0000 | i>>8&0xff00 | i>>24 },
	}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			mem := NewMemory(256 << 20)
			table := New(mem, Config{Seed: 9})
			const keys = 200_000
			for i := range uint32(keys) {
				var b [4]byte
				binary.BigEndian.PutUint32(b[:], order(i))
				table.Add(&Op{Addr: netip.AddrFrom4(b), Now: 1, Slot: 1, Cost: 1})
			}
			if s := mem.Stats(); table.Stats().Keys != keys || s.KeyPages > keys/80 {
				t.Errorf("%d keys in %d pages", table.Stats().Keys, s.KeyPages)
			}
		})
	}
}

// TestMemory takes and gives pages at random and looks for one that is handed
// out twice or comes back dirty.
func TestMemory(t *testing.T) {
	mem := NewMemory(4 << 20)
	r := random(t)
	var pages []uint32
	taken := map[uint32]bool{}
	for range 20_000 {
		if len(pages) == 0 || r.IntN(100) < 52 {
			n := mem.takeKeys()
			if n == 0 {
				continue
			}
			p := mem.pageAt(n)
			if taken[n] || *p != (page{}) {
				t.Fatalf("page %d: taken %t or not empty", n, taken[n])
			}
			p[17], taken[n] = 1, true
			pages = append(pages, n)
		} else {
			i := r.IntN(len(pages))
			mem.giveKeys(pages[i])
			delete(taken, pages[i])
			pages[i] = pages[len(pages)-1]
			pages = pages[:len(pages)-1]
		}
		if s := mem.Stats(); s.Used > s.Limit || s.KeyPages != len(pages) || int64(s.KeyPages)*pageSize > s.Used {
			t.Fatalf("%d pages are taken: %+v", len(pages), s)
		}
	}
}

// TestConcurrent counts, looks, sweeps and clears from several goroutines, in
// plenty of memory and in too little; under -race it proves the locks.
func TestConcurrent(t *testing.T) {
	for i, budget := range []int64{512 << 10, 64 << 20, 512 << 10, 64 << 20} {
		mem := NewMemory(budget)
		table := New(mem, Config{Seed: 10, Distinct: i > 1})
		const writers, each = 4, 30_000
		var wg sync.WaitGroup
		for w := range uint64(writers) {
			wg.Go(func() {
				ops, out := make([]Op, 100), make([]Count, 100)
				for i := range each / len(ops) {
					for j := range ops {
						n := lcg(w<<32+uint64(i*len(ops)+j)) >> 40 % 50_000
						ops[j] = Op{Addr: address(uint32(n)), Now: 1000 + uint32(i)/20, Slot: 1000 + uint32(i)/20, Cost: 1, Value: w*each + uint64(i*len(ops)+j) + 1}
					}
					table.AddBatch(ops[:50], out)
					for j := range ops[50:] {
						table.Add(&ops[50+j])
					}
				}
			})
		}
		wg.Go(func() {
			for range 30 {
				table.Sweep(1000, 100)
				seen := map[netip.Prefix]bool{}
				table.EachEntry(1000, func(e Entry) bool {
					if seen[e.Key.Prefix] {
						t.Errorf("%v is shown twice", e.Key)
					}
					seen[e.Key.Prefix] = true
					return true
				})
				table.Stats()
				table.Count(address(5), "", 1000)
			}
		})
		wg.Wait()
		var sum uint32
		table.EachEntry(1014, func(e Entry) bool { sum += e.Count; return true })
		if s := table.Stats(); s.Evicted+s.Refused+s.Undercounted == 0 && sum != writers*each {
			t.Errorf("%d events were counted of %d", sum, writers*each)
		}
		if used := mem.Stats().Used; used > budget {
			t.Errorf("%d bytes of a budget of %d", used, budget)
		}
	}
}
