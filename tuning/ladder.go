package tuning

import (
	"math"
	"slices"
	"sort"

	"edgeguard"
)

// Ladder returns thresholds to compare: 1, 2 and 5 times the powers of ten of a unit, from
// 10 to the first that is not below highest, and no further than [edgeguard.MaxLimit].
func Ladder(highest, unit uint32) []uint32 {
	var steps []uint32
	for decade := uint32(10); ; decade *= 10 {
		for _, m := range []uint32{1, 2, 5} {
			step := decade * m * unit
			if step > edgeguard.MaxLimit {
				return steps
			}
			steps = append(steps, step)
			if step >= highest {
				return steps
			}
		}
	}
}

// humanNumbers are the numbers that people choose, lowest first: 1, 2, 2.5, 3,
// 4, 5, 6 and 8 times the powers of ten.
var humanNumbers = multiples([]float64{1, 2, 2.5, 3, 4, 5, 6, 8})

// twoDigitNumbers are those with two digits and then noughts: for gaps too
// narrow for a human number.
var twoDigitNumbers = func() []uint32 {
	var tenths []float64
	for i := 10; i < 100; i++ {
		tenths = append(tenths, float64(i)/10)
	}
	return multiples(tenths)
}()

func multiples(of []float64) []uint32 {
	var all []uint32
	for decade := 1.0; decade <= 100_000; decade *= 10 {
		for _, m := range of {
			if v := math.Round(m * decade); math.Abs(v-m*decade) < 1e-6 {
				all = append(all, uint32(v))
			}
		}
	}
	return slices.Compact(all)
}

// inside finds the roundest threshold, in units, whose limit is at least low and under
// high, and among equally round ones the nearest to the geometric middle. ok
// is false only if no threshold has such a limit.
func inside(low, high, unit uint32, limitOf LimitOf) (threshold uint32, ok bool) {
	high = min(high, edgeguard.MaxLimit+1)
	middle := math.Sqrt(float64(max(low, 1)) * float64(high))
	for _, numbers := range [][]uint32{humanNumbers, twoDigitNumbers} {
		nearest := math.Inf(1)
		for _, n := range numbers {
			if n > edgeguard.MaxLimit {
				break
			}
			n *= unit
			limit := limitOf.limitOf(n)
			if limit < low || limit >= high {
				continue
			}
			if far := math.Abs(math.Log(float64(limit) / middle)); far < nearest {
				threshold, nearest, ok = n, far, true
			}
		}
		if ok {
			return threshold, true
		}
	}
	n := lowest(uint32(middle), limitOf)
	if limitOf.limitOf(n) >= high {
		n = lowest(low, limitOf)
	}
	limit := limitOf.limitOf(n)
	return n, limit >= low && limit < high
}

// inside is inside for the limits that the tally's rules can have.
func (t *Tally) inside(low, high uint32, limitOf LimitOf) (threshold uint32, ok bool) {
	return inside(low, min(high, t.most+1), t.Unit.Each, limitOf)
}

// atLeast finds the lowest human threshold whose limit is at least low; where
// none is, the highest.
func (t *Tally) atLeast(low uint32, limitOf LimitOf) (threshold uint32) {
	for _, n := range humanNumbers {
		if n > t.most/t.Unit.Each {
			break
		}
		n *= t.Unit.Each
		limit := limitOf.limitOf(n)
		if limit > edgeguard.MaxLimit {
			break
		}
		threshold = n
		if limit >= low {
			break
		}
	}
	return threshold
}

// lowest is the lowest threshold whose limit is at least n.
func lowest(n uint32, limitOf LimitOf) uint32 {
	return uint32(sort.Search(math.MaxInt32, func(t int) bool { return limitOf.limitOf(uint32(t)) >= n }))
}
