package blocklist

import (
	"cmp"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

type pair struct{ at, value int }

// slow is the index as one would write it first: a slice that is sorted whenever
// somebody looks.
type slow []pair

func (s slow) before(at, value int) (out []int) {
	slices.SortFunc(s, func(a, b pair) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.value, a.value)) })
	for _, p := range s {
		if p.at < at || p.at == at && p.value < value {
			out = append(out, p.value)
		}
	}
	return out
}

// An index has what a sorted slice has, in the same order, whatever comes and goes.
func TestOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for run := range 20 {
		x, twin := newOrderIndex(cmp.Compare[int]), slow{}
		instants := []int{3, 100, 1 << 20}[run%3] // many of one instant; few; none
		added := 0
		for step := range 6000 {
			// The first half mostly grows and the second mostly shrinks, so that
			// pages are split and joined.
			if grow := 4 - 3*(step/3000); random.IntN(5) < grow || len(twin) == 0 {
				p := pair{random.IntN(instants), added}
				if random.IntN(2) == 0 {
					p.at = step // as nearly always: after all others
				}
				added++
				twin = append(twin, p)
				x.Add(int64(p.at), p.value)
			} else {
				i := random.IntN(len(twin))
				if !x.Remove(int64(twin[i].at), twin[i].value) {
					t.Fatalf("run %d, step %d: %v is not there", run, step, twin[i])
				}
				twin = slices.Delete(twin, i, i+1)
			}
			if x.Remove(int64(random.IntN(instants)), -1) {
				t.Fatal("removed what was never added")
			}
			if step%500 != 0 {
				continue
			}
			at, value := random.IntN(instants+1), random.IntN(added+1)
			if got, want := slices.Collect(x.Before(int64(at), value)), twin.before(at, value); !slices.Equal(got, want) {
				t.Fatalf("run %d, step %d, before %d %d: got %d values, want %d", run, step, at, value, len(got), len(want))
			}
			if got, want := slices.Collect(x.All()), twin.before(1<<30, 0); !slices.Equal(got, want) || x.Len() != len(want) {
				t.Fatalf("run %d, step %d: got %d values, Len %d, want %d", run, step, len(got), x.Len(), len(want))
			}
		}
	}
}

// What was removed is free, and pages that were split and emptied take no room.
func TestEmptied(t *testing.T) {
	x := newOrderIndex(cmp.Compare[int])
	for i := range 10 * orderPageSize {
		x.Add(int64(i%97), i)
	}
	for i := range 10 * orderPageSize {
		if !x.Remove(int64(i%97), i) {
			t.Fatalf("%d is not there", i)
		}
	}
	if x.Len() != 0 || len(x.pages) != 0 {
		t.Errorf("%d values in %d pages", x.Len(), len(x.pages))
	}
	for range x.All() {
		t.Error("not empty")
	}
}

// orderFilled returns a million values, in the order of their instants or in none.
func orderFilled(random bool) *orderIndex[int] {
	x, r := newOrderIndex(cmp.Compare[int]), rand.New(rand.NewPCG(1, 1))
	for i := range 1_000_000 {
		at := int64(i)
		if random {
			at = r.Int64N(1_000_000)
		}
		x.Add(at, i)
	}
	return x
}

// BenchmarkPage reads a page of 100 in the middle of a million.
func BenchmarkPage(b *testing.B) {
	x, r := orderFilled(true), rand.New(rand.NewPCG(2, 2))
	for b.Loop() {
		n := 0
		for range x.Before(r.Int64N(1_000_000), 0) {
			if n++; n == 100 {
				break
			}
		}
	}
}

// BenchmarkAdd adds the newest to a million and removes one, and reports what one
// takes in memory.
func BenchmarkAdd(b *testing.B) {
	for name, random := range map[string]bool{"newest": false, "anywhere": true} {
		b.Run(name, func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			x := orderFilled(random)
			runtime.GC()
			runtime.ReadMemStats(&after)
			r := rand.New(rand.NewPCG(3, 3))
			for i := 1_000_000; b.Loop(); i++ {
				at := int64(i)
				if random {
					at = r.Int64N(1_000_000)
				}
				x.Add(at, i)
				x.Remove(at, i)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "B/value")
		})
	}
}
