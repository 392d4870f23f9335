package traffic

import (
	"cmp"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"slices"
	"time"
)

// draft collects the requests of a scenario in any order. It draws whole
// numbers only, and times in whole microseconds: the same on every machine.
type draft struct {
	rng *rand.Rand
	all []Request
}

// drawn returns what [Scenario.Requests] is, for a scenario that is small
// enough to be sorted in memory.
func drawn(name string, fill func(d *draft)) func(uint64) iter.Seq[Request] {
	return func(seed uint64) iter.Seq[Request] {
		return func(yield func(Request) bool) {
			d := &draft{rng: stream(name, seed)}
			fill(d)
			d.sort()
			for _, r := range d.all {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// stream returns a scenario's own random numbers: another scenario more changes
// none of the others.
func stream(name string, seed uint64) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func (d *draft) sort() {
	slices.SortStableFunc(d.all, func(a, b Request) int { return cmp.Compare(a.At, b.At) })
}

// within draws a time from 0 to before d.
func (d *draft) within(span time.Duration) time.Duration {
	return time.Duration(d.rng.Int64N(int64(span/time.Microsecond))) * time.Microsecond
}

// add adds one request that costs 1.
func (d *draft) add(at time.Duration, client int) {
	d.all = append(d.all, Request{At: at, Client: uint32(client), Cost: 1})
}

// burst adds n requests at times drawn from the span that begins at from.
func (d *draft) burst(from, span time.Duration, client, n int) {
	for range n {
		d.add(from+d.within(span), client)
	}
}

// zipf draws ranks from 0: rank k comes 1/(k+1) as often as rank 0, in whole
// numbers.
type zipf []uint64 // the sums of the weights up to each rank

func newZipf(n int) zipf {
	z, sum := make(zipf, n), uint64(0)
	for k := range z {
		sum += (1 << 32) / uint64(k+1)
		z[k] = sum
	}
	return z
}

func (z zipf) draw(rng *rand.Rand) int {
	n := rng.Uint64N(z[len(z)-1])
	at, _ := slices.BinarySearchFunc(z, n, func(sum, n uint64) int {
		if sum <= n {
			return -1
		}
		return 1
	})
	return at
}
