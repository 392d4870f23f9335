package blocklist

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

// randomPrefix makes a prefix of any length, near others of its kind so that
// they nest.
func randomPrefix(r *rand.Rand) netip.Prefix {
	if r.IntN(2) == 0 {
		a := netip.AddrFrom4([4]byte{byte(r.IntN(3)), byte(r.IntN(3)), byte(r.IntN(3)), byte(r.IntN(256))})
		return netip.PrefixFrom(a, r.IntN(33)).Masked()
	}
	var b [16]byte
	for i := range b {
		b[i] = byte(r.IntN(2))
	}
	return netip.PrefixFrom(netip.AddrFrom16(b), []int{0, 3, 10, 31, 33, 44, 48, 56, 64, 128}[r.IntN(10)]).Masked()
}

// within is an address of p, at random.
func within(r *rand.Rand, p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < 8*len(b); bit++ {
		if r.IntN(2) == 0 {
			b[bit/8] |= 0x80 >> (bit % 8)
		}
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// TestFilter: the filter never says no to an address of a prefix that it holds,
// and says no to everything once all is taken out again.
func TestFilter(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	f := newFilter()
	var held []netip.Prefix
	for range 400 {
		if len(held) > 0 && r.IntN(3) == 0 {
			i := r.IntN(len(held))
			f.remove(held[i])
			held = append(held[:i], held[i+1:]...)
		} else {
			p := randomPrefix(r)
			f.add(p)
			held = append(held, p)
		}
		for _, p := range held {
			if a := within(r, p); !f.mayHold(a) {
				t.Fatalf("%v of %v is held and the filter says no", a, p)
			}
		}
	}
	for _, p := range held {
		f.remove(p)
	}
	for range 1000 {
		if a := within(r, randomPrefix(r)); f.mayHold(a) {
			t.Fatalf("the filter is empty and may hold %v", a)
		}
	}
	if len(f.counts) != 0 || len(f.wides()) != 0 {
		t.Errorf("left behind: %d counts, %v", len(f.counts), f.wides())
	}
}

// TestFilterSpares: with a hundred thousand blocks spread at random, nearly all
// other addresses are answered by the filter alone.
func TestFilterSpares(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := newFilter()
	addr := func() netip.Addr {
		var b [4]byte
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return netip.AddrFrom4(b)
	}
	for range 100_000 {
		f.add(netip.PrefixFrom(addr(), 32))
	}
	passed := 0
	for range 100_000 {
		if f.mayHold(addr()) {
			passed++
		}
	}
	if passed > 1500 {
		t.Errorf("%d of 100,000 other addresses pass, want about 600", passed)
	}
}
