package replay

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"edgeguard"
)

// The estimate is within 5 standard errors, from none to more than registers;
// what is added again changes nothing. The hashes are the same in each run: of
// random ones, a run in some 50,000 is further off.
func TestSketch(t *testing.T) {
	for _, n := range []int{0, 1, 100, 10_000, 40_000, 300_000} {
		var s sketch
		for range 2 {
			hashes := rand.New(rand.NewPCG(1, uint64(n)))
			for range n {
				s.add(hashes.Uint64())
			}
		}
		if got := s.estimate(); max(got-n, n-got) > max(1, n*5*8/1000) {
			t.Errorf("%d of %d", got, n)
		}
	}
}

// A key has one hash, and another key another.
func TestSketchSeed(t *testing.T) {
	seed := newSketchSeed()
	key := func(addr string) edgeguard.Key { return edgeguard.Key{Prefix: netip.MustParsePrefix(addr)} }
	if a, b := seed.hashKey(key("192.0.2.1/32")), seed.hashKey(key("192.0.2.2/32")); a != seed.hashKey(key("192.0.2.1/32")) || a == b {
		t.Errorf("%x and %x", a, b)
	}
}
