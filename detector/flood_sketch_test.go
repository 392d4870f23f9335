package detector

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"edgeguard/internal/fulltest"
)

// threeBits is the naive twin of a generation: a Bloom filter as large, with three bits
// of a source anywhere in it.
type threeBits struct {
	bits  []bool
	drawn *rand.Rand
}

// add adds a source that is new, and reports whether it was believed to be known.
func (f *threeBits) add() bool {
	known := true
	for range 3 {
		bit := &f.bits[f.drawn.IntN(len(f.bits))]
		known, *bit = known && *bit, true
	}
	return known
}

// TestSourcesTakenForKnown fills a generation with sources as they come. It takes none of
// them for known that a filter with three bits anywhere would not, in sum, and of the last
// ones, where it is fullest, not one in two hundred.
func TestSourcesTakenForKnown(t *testing.T) {
	fulltest.Only(t)
	const last = sketchMost / 8
	six := netip.MustParseAddr("2001:db8::1").As16()
	for name, source := range map[string]func(n uint32) netip.Addr{
		"one by one":           addr,
		"a /24 each":           func(n uint32) netip.Addr { return addr(n << 8) },
		"a /16 in turns":       func(n uint32) netip.Addr { return addr(n<<16 | n>>16) },
		"anywhere":             func(n uint32) netip.Addr { return addr(n * 0x9e3779b1) }, // odd: no two are the same
		"IPv6 /64s":            func(n uint32) netip.Addr { binary.BigEndian.PutUint32(six[4:], n); return netip.AddrFrom16(six) },
		"IPv6 /64s of one /32": func(n uint32) netip.Addr { binary.BigEndian.PutUint32(six[4:], n<<12); return netip.AddrFrom16(six) },
	} {
		s, w := newSketch(), NewFloodWatch(FloodConfig{}, 42)
		twin := threeBits{make([]bool, sketchWords*64), rand.New(rand.NewPCG(2, 2))}
		wrong, late, twins := 0, 0, 0
		for n := range uint32(sketchMost) {
			if twin.add() {
				twins++
			}
			if !s.add(sourceHash(source(n), w.seed)) {
				wrong++
				if n >= sketchMost-last {
					late++
				}
			}
		}
		if t.Logf("%s: %d of %d, of the last %d %d; the twin %d", name, wrong, sketchMost, last, late, twins); wrong > twins || late*200 > last {
			t.Errorf("%s: more sources are taken for known than the documentation says", name)
		}
	}
}
