package detector

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

// A set of prefixes says of any prefix what a look at each of them would.
func TestPrefixSet(t *testing.T) {
	rng, yes := rand.New(rand.NewPCG(3, 4)), 0
	some := func() netip.Prefix {
		if rng.IntN(3) == 0 {
			a := netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, byte(rng.IntN(3)), byte(rng.IntN(256))})
			return netip.PrefixFrom(a, 30+rng.IntN(99)).Masked()
		}
		a := netip.AddrFrom4([4]byte{198, 51, byte(rng.IntN(3)), byte(rng.IntN(256))})
		return netip.PrefixFrom(a, 14+rng.IntN(19)).Masked()
	}
	for range 300 {
		all := make([]netip.Prefix, rng.IntN(12))
		for i := range all {
			all[i] = some()
		}
		set := newPrefixSet(all)
		for range 100 {
			p, contained, overlapping := some(), false, false
			for _, one := range all {
				contained = contained || inside(p, one)
				overlapping = overlapping || one.Overlaps(p)
			}
			if overlapping {
				yes++
			}
			if set.contains(p) != contained || set.overlaps(p) != overlapping {
				t.Fatalf("%v of %v: contained %v, overlapping %v", p, all, set.contains(p), set.overlaps(p))
			}
		}
	}
	if yes < 1000 {
		t.Errorf("only %d overlapped", yes)
	}
}
