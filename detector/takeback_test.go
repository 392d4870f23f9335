package detector

import (
	"math/rand/v2"
	"testing"
)

// What failed in the last minutes is never too little, whatever else fails, and is gone after
// seven: exact sums beside it say so. Few are too high, and where few fail none is.
func TestFailedInTheLastMinutes(t *testing.T) {
	failedInTheLastMinutes(t, 500, 1)
	failedInTheLastMinutes(t, mostNoted/4, 0)
}

// failedInTheLastMinutes is that of so many keys; of a hundred sums at most so many are too high.
func failedInTheLastMinutes(t *testing.T, keys uint64, most int) {
	type one struct {
		hash   uint64
		minute uint32
	}
	random := rand.New(rand.NewPCG(3, 4))
	var f failed
	exact := make(map[one]uint32)
	newest, high, of := uint32(1000), 0, 0
	for range 60_000 {
		if newest += random.Uint32N(2000) / 1999 * random.Uint32N(5); f.minute > 0 {
			newest = max(newest, f.minute)
		}
		minute, n := newest-random.Uint32N(9), 1+random.Uint32N(9)
		hash := random.Uint64N(keys) * 0x9e3779b97f4a7c15
		if f.add(hash, minute, n); minute+failedMinutes > f.minute {
			exact[one{hash, minute}] += n
		}
		hash, from := random.Uint64N(keys)*0x9e3779b97f4a7c15, newest-random.Uint32N(9)
		var want uint32
		for m := max(from, f.minute+1-failedMinutes); m <= f.minute; m++ {
			want += exact[one{hash, m}]
		}
		got := f.of(hash, from*60+random.Uint32N(60))
		if got < want {
			t.Fatalf("%d, and %d failed", got, want)
		}
		if of++; got > want {
			high++
		}
	}
	if high*100 > of*most {
		t.Errorf("%d keys: of %d sums %d are too high", keys, of, high)
	}
}
