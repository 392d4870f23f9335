package tuning

import (
	"iter"
	"math"
	"math/bits"
)

// Buckets are exact below exactBelow; above it every doubling is cut into
// 1<<subBits parts, so that a bucket is never wider than 1/32 of its values.
const (
	subBits    = 5
	exactBits  = subBits + 1
	exactBelow = 1 << exactBits
	numBuckets = exactBelow + (32-exactBits)<<subBits
)

// Distribution counts values of any size in 896 buckets, after HdrHistogram
// (Gil Tene, hdrhistogram.org): exact below 64, within 1/32 above. The zero
// value is empty and ready; copies are independent.
type Distribution struct {
	counts   [numBuckets]uint64
	sums     [numBuckets]uint64
	total    uint64
	sum      uint64
	min, max uint32
}

// Bucket is a run of values and how often they came.
type Bucket struct {
	Low, High uint32 // both included
	Count     uint64
	Sum       uint64 // of the values, exactly
}

// Add adds one value.
func (d *Distribution) Add(v uint32) { d.AddN(v, 1) }

// AddN adds a value n times.
func (d *Distribution) AddN(v uint32, n uint64) {
	if n == 0 {
		return
	}
	if d.total == 0 || v < d.min {
		d.min = v
	}
	d.max = max(d.max, v)
	d.counts[bucketOf(v)] += n
	d.sums[bucketOf(v)] += uint64(v) * n
	d.total += n
	d.sum += uint64(v) * n
}

// Merge adds all values of another distribution, as exactly as if each
// had been added.
func (d *Distribution) Merge(other *Distribution) {
	if other.total == 0 {
		return
	}
	if d.total == 0 || other.min < d.min {
		d.min = other.min
	}
	d.max = max(d.max, other.max)
	for i, n := range other.counts {
		d.counts[i] += n
		d.sums[i] += other.sums[i]
	}
	d.total += other.total
	d.sum += other.sum
}

// Total is how many values were added.
func (d *Distribution) Total() uint64 { return d.total }

// Sum is the sum of all values, exactly.
func (d *Distribution) Sum() uint64 { return d.sum }

// Min is the least value, exactly; 0 when empty.
func (d *Distribution) Min() uint32 { return d.min }

// Max is the greatest value, exactly; 0 when empty.
func (d *Distribution) Max() uint32 { return d.max }

// Quantile is the value that a share q (0 to 1) of all values is at or under:
// the value of rank ceil(q*total), exact below 64 and otherwise the greatest
// of its bucket, so at most 1/32 too high and never too low. 0 when empty.
func (d *Distribution) Quantile(q float64) uint32 {
	if d.total == 0 {
		return 0
	}
	rank := uint64(1)
	if r := math.Ceil(q * float64(d.total)); r > 1 {
		rank = min(uint64(r), d.total)
	}
	var seen uint64
	for b := range d.Buckets() {
		if seen += b.Count; seen >= rank {
			return b.High
		}
	}
	return d.max
}

// Above is how many values are greater than n: exact where n is below 64 or
// ends a bucket; inside a bucket its values are taken to be spread evenly.
func (d *Distribution) Above(n uint32) uint64 { return above(d.Buckets(), n) }

func above(buckets iter.Seq[Bucket], n uint32) uint64 {
	var above uint64
	for b := range buckets {
		switch {
		case b.Low > n:
			above += b.Count
		case b.High > n:
			share := float64(b.High-n) / (float64(b.High-b.Low) + 1)
			above += uint64(math.Round(share * float64(b.Count)))
		}
	}
	return above
}

// Excess is the sum of what each value has above n: exact where n is below 64 or ends
// a bucket; inside a bucket its values are taken to be spread evenly.
func (d *Distribution) Excess(n uint32) uint64 { return excess(d.Buckets(), n) }

func excess(buckets iter.Seq[Bucket], n uint32) uint64 {
	excess := 0.0
	for b := range buckets {
		switch {
		case b.Low > n:
			excess += float64(b.Sum) - float64(n)*float64(b.Count)
		case b.High > n:
			above := float64(b.High - n)
			excess += above / (float64(b.High-b.Low) + 1) * float64(b.Count) * (above + 1) / 2
		}
	}
	return uint64(math.Round(excess))
}

// Buckets returns the buckets that are not empty, lowest first. The first and
// the last are cut to the least and the greatest value.
func (d *Distribution) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		if d.total == 0 {
			return
		}
		for i := bucketOf(d.min); i <= bucketOf(d.max); i++ {
			if d.counts[i] == 0 {
				continue
			}
			low, high := boundsOf(i)
			if !yield(Bucket{max(low, d.min), min(high, d.max), d.counts[i], d.sums[i]}) {
				return
			}
		}
	}
}

func bucketOf(v uint32) int {
	if v < exactBelow {
		return int(v)
	}
	doubling := bits.Len32(v) - 1 - exactBits
	sub := int(v>>(doubling+exactBits-subBits)) & (1<<subBits - 1)
	return exactBelow + doubling<<subBits + sub
}

func boundsOf(i int) (low, high uint32) {
	if i < exactBelow {
		return uint32(i), uint32(i)
	}
	i -= exactBelow
	shift := i>>subBits + exactBits - subBits
	low = uint32(1<<subBits+i&(1<<subBits-1)) << shift
	return low, low + 1<<shift - 1
}
