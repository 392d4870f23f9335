package ring

import (
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"
)

// slow is the twin: every slot ever counted, by its number.
type slow struct {
	newest uint32
	slots  map[uint32]uint32
}

func (s *slow) add(now, slot uint32, cost uint16) (uint32, bool) {
	s.newest = max(s.newest, now)
	slot = min(slot, s.newest)
	counted := s.newest-slot < Slots
	if counted {
		s.slots[slot] = min(s.slots[slot]+uint32(cost), Max)
	}
	return s.last(now, Slots), counted
}

func (s *slow) last(now uint32, k int) (sum uint32) {
	now = max(now, s.newest)
	for slot, n := range s.slots {
		if int(now-slot) < k {
			sum += n
		}
	}
	return sum
}

func (s *slow) until(now, n uint32) uint32 {
	now = max(now, s.newest)
	for d := uint32(0); ; d++ {
		if s.last(now+d, Slots) <= n {
			return d
		}
	}
}

func TestOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	for run := range 300 {
		var ring Ring
		twin := &slow{slots: map[uint32]uint32{}}
		now := [...]uint32{0, 1, 59, 60, 1000, 1 << 31, 1<<32 - 100_000}[run%7]
		for i := range 300 {
			now, slot, cost := step(r, &now)
			got, counted := ring.Add(now, slot, cost)
			want, wantCounted := twin.add(now, slot, cost)
			if got != want || counted != wantCounted {
				t.Fatalf("seed %d, run %d, step %d: Add(%d, %d, %d) gave %d, %t; want %d, %t",
					seed, run, i, now, slot, cost, got, counted, want, wantCounted)
			}
			agree(t, r, &ring, twin, now+r.Uint32N(70))
		}
	}
}

// step moves time on, and now and then back, and makes an event.
func step(r *rand.Rand, clock *uint32) (now, slot uint32, cost uint16) {
	switch r.IntN(10) {
	case 0:
		*clock += r.Uint32N(100)
	case 1, 2, 3:
		*clock++
	}
	now = *clock - min(*clock, r.Uint32N(8)/7)
	slot, cost = now, 1
	switch r.IntN(8) {
	case 0:
		slot -= min(slot, r.Uint32N(70))
	case 1:
		cost = uint16(r.IntN(Max + 1))
	case 2:
		slot++
	}
	return now, slot, cost
}

func agree(t *testing.T, r *rand.Rand, ring *Ring, twin *slow, now uint32) {
	t.Helper()
	if got, want := ring.Count(now), twin.last(now, Slots); got != want {
		t.Fatalf("Count(%d): got %d, want %d", now, got, want)
	}
	k := r.IntN(Slots+10) - 5
	if got, want := ring.Last(now, k), twin.last(now, min(max(k, 0), Slots)); got != want {
		t.Fatalf("Last(%d, %d): got %d, want %d", now, k, got, want)
	}
	n := r.Uint32N(ring.Count(now) + 2)
	if got, want := ring.Until(now, n), twin.until(now, n); got != want {
		t.Fatalf("Until(%d, %d): got %d, want %d", now, n, got, want)
	}
	slots := ring.Snapshot(now)
	if got, want := slots.Sum(), ring.Count(now); got != want {
		t.Fatalf("Snapshot(%d) sums to %d, Count gives %d", now, got, want)
	}
	for i, n := range slots {
		slot := max(now, twin.newest) - uint32(Slots-1-i)
		if uint32(n) != twin.slots[slot] {
			t.Fatalf("Snapshot(%d): slot %d has %d, want %d", now, slot, n, twin.slots[slot])
		}
	}
}

func TestAdd(t *testing.T) {
	type event struct {
		now, slot uint32
		cost      uint16
		count     uint32
		counted   bool
	}
	for _, test := range []struct {
		name   string
		events []event
	}{
		{"the first event", []event{{100, 100, 1, 1, true}}},
		{"slot 0", []event{{0, 0, 3, 3, true}, {59, 59, 1, 4, true}, {60, 60, 1, 2, true}}},
		{"leaves after sixty slots", []event{{100, 100, 5, 5, true}, {159, 159, 1, 6, true}, {160, 160, 1, 2, true}}},
		{"late but in the window", []event{{100, 100, 1, 1, true}, {100, 41, 2, 3, true}, {101, 101, 1, 2, true}}},
		{"too late", []event{{100, 100, 1, 1, true}, {100, 40, 2, 1, false}}},
		{"from the future", []event{{100, 105, 1, 1, true}, {159, 159, 1, 2, true}, {160, 160, 0, 1, true}}},
		{"time runs back", []event{{100, 100, 1, 1, true}, {90, 90, 1, 2, true}, {149, 149, 0, 2, true}, {150, 150, 0, 1, true}}},
		{"a slot saturates", []event{{7, 7, Max, Max, true}, {7, 7, 9, Max, true}, {8, 8, 9, Max + 9, true}, {67, 67, 0, 9, true}}},
		{"a long pause", []event{{7, 7, 7, 7, true}, {4_000_000_000, 4_000_000_000, 1, 1, true}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r Ring
			for i, e := range test.events {
				if count, counted := r.Add(e.now, e.slot, e.cost); count != e.count || counted != e.counted {
					t.Errorf("event %d, %+v: got %d, %t", i, e, count, counted)
				}
			}
		})
	}
}

func TestNew(t *testing.T) {
	var r Ring
	var counts Counts
	for s := uint32(70); s < 140; s += 3 {
		r.Add(s, s, uint16(s))
	}
	for s := uint32(139 - 59); s < 140; s++ {
		if (s-70)%3 == 0 {
			counts.Add(s, uint16(s))
		}
	}
	if got := New(139, counts); got != r {
		t.Errorf("got %+v, want %+v", got, r)
	}
}

func TestSize(t *testing.T) {
	if size := unsafe.Sizeof(Ring{}); size > 128 {
		t.Errorf("a ring takes %d bytes, two cache lines are 128", size)
	}
	if size := unsafe.Sizeof(Counts{}); size != 120 {
		t.Errorf("counts take %d bytes, want 120", size)
	}
}

func TestNoAllocs(t *testing.T) {
	var r Ring
	now := uint32(1000)
	n := testing.AllocsPerRun(1000, func() {
		now++
		r.Add(now, now, 1)
		r.Last(now, 10)
		r.Until(now, 5)
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	var r Ring
	b.ReportAllocs()
	for i := range b.N {
		now := 1000 + uint32(i/33)
		r.Add(now, now, 1)
	}
}
