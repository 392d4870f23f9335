package tuning

import (
	"math"

	"edgeguard"
)

// What makes a gap convincing.
const (
	// minTail is how many keys must be under a gap before they are a tail that
	// something can stand out from.
	minTail = 10
	// maxShare is the greatest part of all keys (one in so many) that may be
	// above it: abusers are few.
	maxShare = 4
	// minRatio is how much higher than the tail the lowest abuser must be, so
	// that a limit between them leaves both some room.
	minRatio = 4.0 / 3
	// minNoise is how far the square roots of the two peaks must be apart. A
	// root of a random (Poisson) count has a standard deviation of 1/2
	// (Bartlett 1936), so 2 is 2.8 of the difference: 2 against 1 says
	// nothing, 20 against 10 little, 363 against 264 is more than chance.
	minNoise = 2
)

// minSurprise is how much wider a gap must be than the tail under it leads to
// expect. Where the tail is heavy (Pareto), the logarithms of neighbouring
// peaks, times their rank, are independent and exponential about the tail's
// index (Rényi 1953), which the tail itself tells (Hill 1975); one in forty is
// then wider than ln 40 times it. One in twenty would be the custom, but a
// handful of ranks are tried, and the index is a guess from few keys.
var minSurprise = math.Log(40)

// Gap is a space between two neighbouring peaks.
type Gap struct {
	Low, High uint32 // the highest peak under it and the lowest above
	Keys      int    // how many keys are above
}

// widestGap finds the widest convincing gap, by ratio, in peaks sorted highest
// first. They may be the top of more: all is how many keys there are.
func widestGap(peaks []Peak, all uint64) (gap Gap, ok bool) {
	widest := minRatio
	few := min(int(min(all/maxShare, math.MaxInt32)), len(peaks)-minTail)
	for above := 1; above <= few; above++ {
		high, low := peaks[above-1].Peak, peaks[above].Peak
		ratio := float64(high) / float64(low)
		if ratio < widest || low > edgeguard.MaxLimit || math.Sqrt(float64(high))-math.Sqrt(float64(low)) < minNoise {
			continue
		}
		if float64(above)*math.Log(ratio) >= minSurprise*tailIndex(peaks[above:], above) {
			gap, ok, widest = Gap{Low: low, High: high, Keys: above}, true, ratio
		}
	}
	return gap, ok
}

// tailIndex is Hill's estimate from the keys next under a gap: as many as are
// above it twice over, and at least minTail. It is 0 if their peaks are equal.
func tailIndex(tail []Peak, above int) float64 {
	n := min(max(minTail, 2*above), len(tail))
	last := math.Log(float64(tail[n-1].Peak))
	sum := 0.0
	for _, p := range tail[:n-1] {
		sum += math.Log(float64(p.Peak)) - last
	}
	return sum / float64(n-1)
}
