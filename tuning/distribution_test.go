package tuning

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// spread returns values of all magnitudes.
func spread(r *rand.Rand) uint32 { return r.Uint32() >> r.IntN(33) }

func TestBucketsTile(t *testing.T) {
	next := uint64(0)
	for i := range numBuckets {
		low, high := boundsOf(i)
		if uint64(low) != next || high < low {
			t.Fatalf("bucket %d is %d to %d, want it to begin at %d", i, low, high, next)
		}
		if width := uint64(high-low) + 1; width > 1 && width*32 > uint64(low) {
			t.Errorf("bucket %d, %d to %d, is wider than 1/32", i, low, high)
		}
		if low < exactBelow && low != high {
			t.Errorf("bucket %d, %d to %d, is not exact", i, low, high)
		}
		for _, v := range []uint32{low, low + (high-low)/2, high} {
			if bucketOf(v) != i {
				t.Errorf("%d goes to bucket %d, want %d", v, bucketOf(v), i)
			}
		}
		next = uint64(high) + 1
	}
	if next != 1<<32 {
		t.Errorf("the buckets end at %d", next)
	}
}

// TestDistributionAgainstSort compares with the sorted values themselves.
func TestDistributionAgainstSort(t *testing.T) {
	r := newRand(t)
	for range 200 {
		var d, half Distribution
		var all []uint32
		for range 1 + r.IntN(300) {
			v, n := spread(r), 1+r.IntN(3)
			into := &d
			if r.IntN(2) == 0 {
				into = &half
			}
			into.AddN(v, uint64(n))
			all = append(all, slices.Repeat([]uint32{v}, n)...)
		}
		d.Merge(&half)
		slices.Sort(all)
		checkExact(t, &d, all)
		for range 20 {
			checkQuantile(t, &d, all, r.Float64())
			checkAbove(t, &d, all, all[r.IntN(len(all))]+uint32(r.IntN(3))-1)
			checkAbove(t, &d, all, spread(r))
		}
		checkQuantile(t, &d, all, 0)
		checkQuantile(t, &d, all, 1)
		if t.Failed() {
			return
		}
	}
}

func checkExact(t *testing.T, d *Distribution, sorted []uint32) {
	t.Helper()
	var sum, buckets uint64
	for _, v := range sorted {
		sum += uint64(v)
	}
	for b := range d.Buckets() {
		if b.Count == 0 || b.Low > b.High {
			t.Errorf("bucket %+v", b)
		}
		buckets += b.Count
	}
	if d.Total() != uint64(len(sorted)) || d.Sum() != sum || buckets != d.Total() ||
		d.Min() != sorted[0] || d.Max() != sorted[len(sorted)-1] {
		t.Errorf("total %d sum %d min %d max %d, in buckets %d; want %d values from %d to %d",
			d.Total(), d.Sum(), d.Min(), d.Max(), buckets, len(sorted), sorted[0], sorted[len(sorted)-1])
	}
}

func checkQuantile(t *testing.T, d *Distribution, sorted []uint32, q float64) {
	t.Helper()
	rank := max(1, int(math.Ceil(q*float64(len(sorted)))))
	want, got := sorted[rank-1], d.Quantile(q)
	if got < want || float64(got) > float64(want)*(1+1.0/32) || (want < exactBelow && got != want) {
		t.Errorf("quantile %v is %d, want %d", q, got, want)
	}
}

// checkAbove: what is above n lies between what is above n's bucket and what
// is above the value before it; at bucket edges it is exact.
func checkAbove(t *testing.T, d *Distribution, sorted []uint32, n uint32) {
	t.Helper()
	above := func(n uint32) (count uint64) {
		for _, v := range sorted {
			if v > n {
				count++
			}
		}
		return count
	}
	low, high := boundsOf(bucketOf(n))
	most := above(n)
	if low > 0 {
		most = above(low - 1)
	}
	got := d.Above(n)
	if got < above(high) || got > most || (n == high && got != above(n)) {
		t.Errorf("above %d: %d, want between %d and %d, truly %d", n, got, above(high), most, above(n))
	}
}

func TestDistributionEmpty(t *testing.T) {
	var d Distribution
	d.AddN(7, 0)
	d.Merge(&Distribution{})
	if d != (Distribution{}) || d.Quantile(0.5) != 0 || d.Above(0) != 0 {
		t.Errorf("not empty: total %d, quantile %d, above %d", d.Total(), d.Quantile(0.5), d.Above(0))
	}
	var one Distribution
	one.Add(math.MaxUint32)
	d.Merge(&one)
	if d != one || d.Min() != math.MaxUint32 || d.Quantile(0) != math.MaxUint32 || d.Above(math.MaxUint32) != 0 || d.Above(math.MaxUint32-1) != 1 {
		t.Error("the greatest value is lost")
	}
}

func TestAboveNeverRises(t *testing.T) {
	r := newRand(t)
	var d Distribution
	for range 1000 {
		d.Add(uint32(r.IntN(5000)))
	}
	for n := uint32(1); n < 5100; n++ {
		if d.Above(n) > d.Above(n-1) {
			t.Fatalf("above %d: %d, above %d: %d", n-1, d.Above(n-1), n, d.Above(n))
		}
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	tally := NewTally(Config{})
	if n := testing.AllocsPerRun(100, func() { tally.Event(1000) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEvent(b *testing.B) {
	tally := NewTally(Config{})
	for i := 0; b.Loop(); i++ {
		tally.Event(uint32(i & 1023))
	}
}
