package replay

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"edgeguard"
)

// The estimate is within 5 standard errors, from none to more than registers;
// what is added again changes nothing.
func TestSketch(t *testing.T) {
	seed := newSketchSeed()
	for _, n := range []int{0, 1, 100, 10_000, 40_000, 300_000} {
		var s sketch
		for range 2 {
			for i := range n {
				var a [4]byte
				binary.BigEndian.PutUint32(a[:], uint32(i))
				s.add(seed.of(edgeguard.Key{Prefix: netip.PrefixFrom(netip.AddrFrom4(a), 32)}))
			}
		}
		if got := s.estimate(); max(got-n, n-got) > max(1, n*5*8/1000) {
			t.Errorf("%d of %d", got, n)
		}
	}
}
