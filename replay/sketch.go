package replay

import (
	"hash/maphash"
	"math"
	"math/bits"

	"edgeguard"
)

// sketchBits is how many bits of a hash choose a register: the standard error is
// 1.04 / √(2^14), 0.8 %.
const sketchBits = 14

// sketch estimates how many different keys were added, in 16 KiB: HyperLogLog by
// Flajolet and others, 2007. Each register has the greatest number of leading
// zeros, plus one, of the hashes that fell to it.
type sketch [1 << sketchBits]uint8

// sketchSeed makes hashes that no author of a log can predict.
type sketchSeed struct{ seed maphash.Seed }

func newSketchSeed() sketchSeed { return sketchSeed{maphash.MakeSeed()} }

func (s sketchSeed) hashKey(key edgeguard.Key) uint64 { return maphash.Comparable(s.seed, key) }

func (s *sketch) add(hash uint64) {
	register := &s[hash>>(64-sketchBits)]
	*register = max(*register, uint8(bits.LeadingZeros64(hash<<sketchBits|1<<(sketchBits-1))+1))
}

// estimate is Ertl's improved raw estimator (New cardinality estimation
// algorithms for HyperLogLog sketches, 2017, algorithm 6). The first one's switch
// to counting empty registers is off by up to 4 % near 2.5 keys a register.
func (s *sketch) estimate() int {
	const m, most = float64(len(s)), 64 - sketchBits + 1
	var with [most + 1]float64 // registers by their value
	for _, r := range s {
		with[r]++
	}
	z := m * tau(1-with[most]/m)
	for r := most - 1; r >= 1; r-- {
		z = (z + with[r]) / 2
	}
	z += m * sigma(with[0]/m)
	return int(math.Round(m * m / (2 * math.Ln2 * z)))
}

// sigma is x + Σ x^(2^k) 2^(k-1), k from 1: the share of the empty registers.
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	sum, y := x, 1.0
	for before := -1.0; sum != before; y *= 2 {
		x *= x
		before, sum = sum, sum+x*y
	}
	return sum
}

// tau is (1 - x - Σ (1 - x^(2^-k))² 2^-k) / 3, k from 1: the share of the full ones.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	sum, y := 1-x, 1.0
	for before := -1.0; sum != before; {
		x, y = math.Sqrt(x), y/2
		before, sum = sum, sum-(1-x)*(1-x)*y
	}
	return sum / 3
}
