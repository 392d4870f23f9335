package shard

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"
)

var configs = []struct {
	name string
	Config
}{
	{"addresses", Config{Seed: 1}},
	{"prefixes", Config{V4: 24, V6: 48, Seed: 2}},
	{"long v6", Config{V6: 128, Seed: 3}},
	{"attributes", Config{With: true, Seed: 4}},
	{"peaks", Config{Peaks: true, Seed: 5}},
	{"attributes and peaks", Config{With: true, Peaks: true, Seed: 6}},
}

// TestOracle runs random events through a table and through a log of all
// events, with sweeps, clears and look-ups in between.
func TestOracle(t *testing.T) {
	for _, c := range configs {
		for _, keys := range []int{20, 2000, 100_000} {
			t.Run(c.name, func(t *testing.T) {
				mem := NewMemory(64 << 20)
				table, want := New(mem, c.Config), newLog(c.Config)
				r := &traffic{Rand: random(t), past: 1000, keys: keys}
				for i := range rounds(60_000) {
					op := r.op()
					got, expected := table.Add(&op), want.add(&op)
					if got != expected {
						t.Fatalf("event %d, %+v: got %+v, want %+v", i, op, got, expected)
					}
					ask(t, r, table, want)
					switch r.IntN(500) {
					case 0:
						table.Sweep(r.past, r.IntN(200))
					case 1:
						table.Clear(op.Addr, op.With)
						delete(want.keys, want.key(op.Addr, op.With))
					}
				}
				compare(t, table, want, c.Config, r.now)
				if s := table.Stats(); s.Evicted+s.Refused+s.Undercounted != 0 {
					t.Errorf("nothing was full, but %+v", s)
				}
				empties(t, mem, table)
			})
		}
	}
}

// ask compares what the table says of one key without counting.
func ask(t *testing.T, r *traffic, table *Table, want *log) {
	t.Helper()
	if r.IntN(20) > 0 {
		return
	}
	addr, with, now := address(uint32(r.skewed())), "host=a", r.now+r.Uint32N(70)
	h := want.keys[want.key(addr, with)]
	if h == nil {
		h = &history{}
	}
	if got, expected := table.Count(addr, with, now), h.count(now); got != expected {
		t.Fatalf("Count(%s) at %d: got %d, want %d", addr, now, got, expected)
	}
	n := r.Uint32N(10)
	until := table.Until(addr, with, now, n)
	if h.count(max(now, h.newest)+until) > n || until > 0 && h.count(max(now, h.newest)+until-1) <= n {
		t.Fatalf("Until(%s) at %d for %d: got %d", addr, now, n, until)
	}
	slots, _ := table.SlotsOf(addr, with, now)
	for i, got := range slots {
		slot := max(now, h.newest) - uint32(len(slots)-1-i)
		if uint32(got) != h.slots[slot] {
			t.Fatalf("Ring(%s) at %d: slot %d: got %d, want %d", addr, now, slot, got, h.slots[slot])
		}
	}
}

// compare holds Each against all that the log knows.
func compare(t *testing.T, table *Table, want *log, c Config, now uint32) {
	t.Helper()
	seen := map[logKey]bool{}
	texts := map[uint64]string{Fingerprint("host=a", false): "host=a", Fingerprint("host=b", false): "host=b", Fingerprint("", false): ""}
	table.EachEntry(now, func(e Entry) bool {
		k := logKey{prefix: e.Key.Prefix}
		if c.With {
			k.with = texts[e.With]
		}
		h := want.keys[k]
		if h == nil || seen[k] {
			t.Fatalf("Each shows %v, seen %t, known %t", k, seen[k], h != nil)
		}
		seen[k] = true
		if e.Count != h.count(now) || c.Peaks && e.Peak != h.peak {
			t.Fatalf("Each shows %+v of %v, want %d, peak %d", e, k, h.count(now), h.peak)
		}
		return true
	})
	for k, h := range want.keys {
		if !seen[k] && (h.count(now) > 0 || c.Peaks) {
			t.Fatalf("Each does not show %v, count %d", k, h.count(now))
		}
	}
	if s := table.Stats(); s.Keys != len(seen) {
		t.Errorf("Stats has %d keys, Each %d", s.Keys, len(seen))
	}
}

// empties closes the table and looks for pages that were lost.
func empties(t *testing.T, mem *Memory, table *Table) {
	t.Helper()
	table.Close()
	if s := mem.Stats(); s.KeyPages != 0 || s.RingPages != 0 || mem.dirs != 0 {
		t.Errorf("an empty table holds %+v and %d bytes of directories", s, mem.dirs)
	}
	if s := table.Stats(); s.Keys != 0 || s.Rings != 0 {
		t.Errorf("an empty table has %+v", s)
	}
	addr := netip.MustParseAddr("192.0.2.1")
	if got := table.Add(&Op{Addr: addr, Now: 1, Slot: 1, Cost: 1}); got.Count != 1 {
		t.Errorf("after Close: %+v", got)
	}
}

// TestEntries: what Each shows of a key with attributes is enough to read its
// slots and to forget it, and leaves its neighbours alone.
func TestEntries(t *testing.T) {
	for _, c := range []Config{{}, {V6: 128}, {V4: 24, V6: 48}, {With: true}} {
		table := New(NewMemory(4<<20), c)
		for i := range byte(20) {
			with := ""
			if c.With {
				with = string('a' + rune(i%3))
			}
			for _, addr := range []netip.Addr{netip.AddrFrom4([4]byte{192, 0, i, 1}), netip.AddrFrom16([16]byte{0x20, 1, i, 15: i})} {
				table.Add(&Op{Addr: addr, With: with, Now: 100, Slot: 100 - uint32(i), Cost: uint16(i) + 1})
			}
		}
		var entries []Entry
		table.EachEntry(100, func(e Entry) bool { entries = append(entries, e); return true })
		if len(entries) != 40 {
			t.Fatalf("%+v: %d entries, want 40", c, len(entries))
		}
		for i, e := range entries {
			slots, ok := table.RingOf(e, 100)
			sum := uint32(0)
			for _, n := range slots {
				sum += uint32(n)
			}
			if !ok || sum != e.Count || slots[59-(e.Count-1)] != uint16(e.Count) {
				t.Fatalf("%+v: %+v has slots %v", c, e, slots)
			}
			table.ClearEntry(e)
			if _, ok := table.RingOf(e, 100); ok {
				t.Fatalf("%+v: %+v is still there", c, e)
			}
			if got := table.Stats().Keys; got != len(entries)-i-1 {
				t.Fatalf("%+v: %d keys left, want %d", c, got, len(entries)-i-1)
			}
		}
	}
}

// Where asks for the count of each key once, and shows those that are wanted as Each
// does.
func TestWhere(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for _, c := range []Config{{Seed: seed}, {Seed: seed, With: true, Peaks: true}, {Seed: seed, V4: 31, V6: 128}} {
		table := New(NewMemory(8<<20), c)
		for range 20_000 { // of many slots: some have rings, some have left the window
			op := Op{Addr: netip.AddrFrom4([4]byte{20, byte(random.IntN(3)), byte(random.IntN(8)), byte(random.IntN(200))}), Cost: uint16(1 + random.IntN(3))}
			if random.IntN(4) == 0 {
				op.Addr = netip.AddrFrom16([16]byte{0x20, 1, 6: byte(random.IntN(3)), 15: byte(random.IntN(20))})
			}
			if op.Now = 1000 + random.Uint32N(70); c.With {
				op.With = string(rune('a' + random.IntN(5)))
			}
			op.Slot = op.Now
			table.Add(&op)
		}
		const now, least = 1065, 6
		var want, got []Entry
		var counts, asked []uint32
		table.EachEntry(now, func(e Entry) bool {
			if counts = append(counts, e.Count); e.Count >= least {
				want = append(want, e)
			}
			return true
		})
		wanted := func(count uint32) bool {
			asked = append(asked, count)
			return count >= least
		}
		table.Where(now, wanted, func(e Entry) bool { got = append(got, e); return true })
		if !slices.Equal(asked, counts) || !slices.Equal(got, want) || len(want) == 0 || len(want) == len(counts) {
			t.Errorf("%+v: asked for %d counts of %d, got %d keys of %d", c, len(asked), len(counts), len(got), len(want))
		}
		for _, e := range got {
			slots, _ := table.RingOf(e, now)
			sum := uint32(0)
			for _, n := range slots {
				sum += uint32(n)
			}
			if sum != e.Count {
				t.Errorf("%v counts %d, not %d", e.Key, sum, e.Count)
			}
		}
		shown := 0
		if table.Where(now, wanted, func(Entry) bool { shown++; return false }); shown != 1 {
			t.Errorf("%d keys were shown after the caller had enough", shown-1)
		}
	}
}
