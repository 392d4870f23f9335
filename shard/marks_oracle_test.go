package shard

import (
	"math/rand/v2"
	"testing"

	"edgeguard/ring"
)

// sights is the slow twin of a table of marks: for each value of each key the slot in
// which it was last seen.
type sights struct {
	*log // for its keys
	seen map[logKey]*values
}

type values struct {
	newest uint32
	last   map[uint64]uint32
	peak   uint32
}

func newSights(c Config) *sights { return &sights{newLog(c), map[logKey]*values{}} }

func (s *sights) of(op *Op) *values {
	v := s.seen[s.key(op.Addr, op.With)]
	if v == nil {
		v = &values{last: map[uint64]uint32{}}
	}
	return v
}

func (s *sights) add(op *Op) Count {
	v := s.of(op)
	late := op.Now-min(op.Slot, op.Now) >= ring.Slots
	if len(v.last) == 0 && v.newest == 0 {
		if late || op.Cost == 0 {
			return Count{Late: late}
		}
		s.seen[s.key(op.Addr, op.With)] = v
	}
	v.newest = max(v.newest, op.Now)
	slot := min(op.Slot, v.newest)
	late = v.newest-slot >= ring.Slots
	before := v.count(op.Now)
	for value := op.Value; !late && value < op.Value+uint64(op.Cost); value++ {
		if last, known := v.last[value]; !known || slot > last {
			v.last[value] = slot
		}
	}
	n := v.count(op.Now)
	v.peak = max(v.peak, n)
	return Count{Count: n, Added: uint16(n - before), Late: late}
}

func (v *values) count(now uint32) (n uint32) {
	now = max(now, v.newest)
	for _, last := range v.last {
		if now-last < ring.Slots {
			n++
		}
	}
	return n
}

// trim forgets what no window can show again, which would slow the twin down.
func (v *values) trim() {
	for value, last := range v.last {
		if v.newest-last >= ring.Slots {
			delete(v.last, value)
		}
	}
}

// distinct returns the configs of tables of marks.
func distinct() []Config {
	out := make([]Config, len(configs))
	for i, c := range configs {
		out[i] = c.Config
		out[i].Distinct = true
	}
	return out
}

// show makes an event show one of so many values, small ones more often.
func show(r *rand.Rand, op Op, many int) Op {
	op.Cost = min(op.Cost, 1)
	op.Value = 1 + r.Uint64N(1+r.Uint64N(uint64(many)))
	return op
}

// TestMarks runs random events through a table of marks and through its twin, with
// sweeps, clears and questions in between.
func TestMarks(t *testing.T) {
	for i, c := range distinct() {
		for _, run := range []struct{ keys, values int }{{1, 400}, {20, 300}, {2000, 40}, {50_000, 5}} {
			t.Run(configs[i].name, func(t *testing.T) {
				mem := NewMemory(64 << 20)
				table, want := New(mem, c), newSights(c)
				r := &traffic{Rand: random(t), past: 1000, keys: run.keys}
				for i := range rounds(30_000) {
					op := show(r.Rand, r.op(), run.values)
					op.Cost *= uint16(1 + r.IntN(4))
					got, expected := table.Add(&op), want.add(&op)
					if got != expected {
						t.Fatalf("event %d, %+v: got %+v, want %+v", i, op, got, expected)
					}
					if r.IntN(20) == 0 {
						want.of(&op).trim()
						asked := Op{Addr: address(uint32(r.skewed())), With: "host=a"}
						askMarks(t, table, want.of(&asked), &asked, r.now+r.Uint32N(70), r.Uint32N(20))
					}
					switch r.IntN(500) {
					case 0:
						table.Sweep(r.past, r.IntN(200))
					case 1:
						table.Clear(op.Addr, op.With)
						delete(want.seen, want.key(op.Addr, op.With))
					}
				}
				compareMarks(t, table, want, r.now)
				if s := table.Stats(); s.Evicted+s.Refused+s.Undercounted != 0 || s.Rings != blocksIn(table) {
					t.Errorf("nothing was full, and there are %d blocks, but %+v", blocksIn(table), s)
				}
				empties(t, mem, table)
			})
		}
	}
}

// askMarks compares what the table says of one key without counting.
func askMarks(t *testing.T, table *Table, v *values, op *Op, now, n uint32) {
	t.Helper()
	if got, want := table.Count(op.Addr, op.With, now), v.count(now); got != want {
		t.Fatalf("Count(%s) at %d: got %d, want %d", op.Addr, now, got, want)
	}
	at := max(now, v.newest)
	until := table.Until(op.Addr, op.With, now, n)
	if v.count(at+until) > n || until > 0 && v.count(at+until-1) <= n {
		t.Fatalf("Until(%s) at %d for %d: got %d", op.Addr, now, n, until)
	}
	want := map[uint32]uint16{}
	for _, last := range v.last {
		want[last]++
	}
	slots, _ := table.SlotsOf(op.Addr, op.With, now)
	for i, got := range slots {
		if slot := at - uint32(len(slots)-1-i); got != want[slot] {
			t.Fatalf("Ring(%s) at %d: slot %d: got %d, want %d", op.Addr, now, slot, got, want[slot])
		}
	}
}

// compareMarks holds Each against all that the twin knows.
func compareMarks(t *testing.T, table *Table, want *sights, now uint32) {
	t.Helper()
	texts := map[uint64]string{Fingerprint("host=a", false): "host=a", Fingerprint("host=b", false): "host=b", Fingerprint("", false): ""}
	shown := map[logKey]bool{}
	table.EachEntry(now, func(e Entry) bool {
		k := logKey{prefix: e.Key.Prefix}
		if want.with {
			k.with = texts[e.With]
		}
		v := want.seen[k]
		if v == nil || shown[k] {
			t.Fatalf("Each shows %v, before %t, known %t", k, shown[k], v != nil)
		}
		shown[k] = true
		if e.Count != v.count(now) || e.Peak > 0 && e.Peak != v.peak {
			t.Fatalf("Each shows %+v of %v, want %d, peak %d", e, k, v.count(now), v.peak)
		}
		return true
	})
	for k, v := range want.seen {
		if !shown[k] && v.count(now) > 0 {
			t.Fatalf("Each does not show %v, count %d", k, v.count(now))
		}
	}
}

// blocksIn returns how many blocks the table's trees have.
func blocksIn(table *Table) (n int) {
	for i := range table.halves {
		f := &table.halves[i]
		for k := range f.shards {
			for from, more := uint64(0), true; more; more = from != 0 {
				from = f.entries(k, from, 0, func(_ copied, e *entry) {
					if e.form == tree {
						n++
						n += int(e.asWarm().last)
					}
				})
			}
		}
	}
	return n
}

// mostFuzzed is how many events are enough for a tree of several blocks.
const mostFuzzed = 120

// FuzzMarks holds a table of marks against its twin, with events as the input says: four
// bytes each say which key, value, step of the clock and lateness, or that it is swept.
func FuzzMarks(f *testing.F) {
	f.Add([]byte{1, 1, 0, 0, 1, 2, 0, 0, 1, 3, 0, 0, 1, 1, 30, 0, 1, 2, 31, 70, 1, 4, 255, 3})
	many := make([]byte, 0, 4*mostFuzzed)
	for i := range mostFuzzed {
		many = append(many, byte(i/110), byte(i), byte(i/90), byte(i/30))
	}
	f.Add(many)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4*mostFuzzed {
			t.Skip("longer ones say no more")
		}
		c := Config{Distinct: true, Peaks: len(data)%2 == 0}
		mem := NewMemory(4 << 20)
		table, want, now := New(mem, c), newSights(c), uint32(1000)
		for ; len(data) >= 4; data = data[4:] {
			now += uint32(data[2]) % 70 * uint32(data[2]>>7) // the clock mostly stands
			op := Op{Addr: address(uint32(data[0] % 8)), Now: now, Slot: now - uint32(data[3]%70), Cost: 1, Value: uint64(data[1]) + uint64(data[0])<<8&0x100 + 1}
			if data[3] == 255 {
				table.Sweep(now, 3)
				continue
			}
			if got, expected := table.Add(&op), want.add(&op); got != expected {
				t.Fatalf("%+v: got %+v, want %+v", op, got, expected)
			}
			askMarks(t, table, want.of(&op), &op, now+uint32(data[2]), uint32(data[1]%30))
		}
		if s := table.Stats(); s.Rings != blocksIn(table) {
			t.Fatalf("%d blocks, %+v", blocksIn(table), s)
		}
		empties(t, mem, table)
	})
}
