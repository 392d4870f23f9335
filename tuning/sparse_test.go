package tuning

import (
	"math"
	"slices"
	"testing"
)

// What is kept of a distribution answers as the distribution does.
func TestSparseKeeps(t *testing.T) {
	r := newRand(t)
	for range 300 {
		var d Distribution
		for range r.IntN(200) {
			d.AddN(spread(r), uint64(1+r.IntN(1<<r.IntN(20))))
		}
		s, err := readSparse(d.Sparse())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := slices.Collect(s.Buckets()), slices.Collect(d.Buckets()); !slices.Equal(got, want) {
			t.Fatalf("%v is kept as %v", want, got)
		}
		if total, sum := s.Total(); total != d.Total() || sum != d.Sum() || s.Max() != d.Max() {
			t.Fatalf("%d keys and %d in all, want %d and %d", total, sum, d.Total(), d.Sum())
		}
		for range 20 {
			if n := spread(r); s.Above(n) != d.Above(n) || s.Excess(n) != d.Excess(n) {
				t.Fatalf("above %d: %d and %d, want %d and %d", n, s.Above(n), s.Excess(n), d.Above(n), d.Excess(n))
			}
		}
	}
}

// However many buckets a distribution has, what is kept has a bound, and loses no
// key and no count.
func TestSparseIsBounded(t *testing.T) {
	r := newRand(t)
	for _, most := range []uint64{1, 1 << 10, 1 << 20, math.MaxUint32} {
		var d Distribution
		for i := range numBuckets {
			low, high := boundsOf(i)
			d.AddN(low+uint32(r.Uint64N(uint64(high-low)+1)), 1+r.Uint64N(most)/numBuckets)
		}
		s := d.Sparse()
		if len(s) > maxSparse {
			t.Errorf("up to %d keys in a bucket: %d bytes", most, len(s))
		}
		read, err := readSparse(s)
		if err != nil {
			t.Fatal(err)
		}
		if total, sum := read.Total(); total != d.Total() || sum != d.Sum() {
			t.Errorf("%d keys and %d in all, want %d and %d", total, sum, d.Total(), d.Sum())
		}
		for n := range uint32(exactBelow) {
			if read.Above(n) != d.Above(n) {
				t.Errorf("above %d: %d, want %d", n, read.Above(n), d.Above(n))
			}
		}
		for b := range read.Buckets() {
			if above := read.Above(b.High); above != d.Above(b.High) {
				t.Errorf("above %d, the end of a bucket: %d, want %d", b.High, above, d.Above(b.High))
			}
		}
	}
}

func TestSparseEmpty(t *testing.T) {
	var d Distribution
	s, err := readSparse(d.Sparse())
	if total, sum := s.Total(); err != nil || len(s) != 0 || total != 0 || sum != 0 || s.Above(0) != 0 || s.Excess(0) != 0 {
		t.Errorf("%v, %v", s, err)
	}
}

// What is read is a distribution or refused, and what is a distribution can be kept.
func FuzzReadSparse(f *testing.F) {
	var d Distribution
	for _, v := range []uint32{1, 1, 7, 63, 64, 65, 1900, 1901, math.MaxUint32} {
		d.AddN(v, uint64(v)%5+1)
	}
	f.Add([]byte(d.Sparse()))
	f.Add([]byte(d.sparse(3)))
	f.Add([]byte{})
	f.Add([]byte{0, 1, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readSparse(data)
		if err != nil {
			return
		}
		last, buckets := int64(-1), 0
		for b := range s.Buckets() {
			if int64(b.Low) <= last || b.High < b.Low || b.Count == 0 || b.Sum < b.Count*uint64(b.Low) || b.Sum > b.Count*uint64(b.High) {
				t.Fatalf("%x has the bucket %+v after %d", data, b, last)
			}
			last, buckets = int64(b.High), buckets+1
		}
		if total, _ := s.Total(); s.Above(math.MaxUint32) != 0 || buckets > 0 && s.Above(0) > total {
			t.Errorf("%x: %d above the greatest, %d above 0", data, s.Above(math.MaxUint32), s.Above(0))
		}
	})
}
