package clientaddr

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

// TestTrustOracle compares the search with asking every prefix.
func TestTrustOracle(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		var prefixes []netip.Prefix
		for range rng.IntN(20) {
			p, _ := narrow(rng).Prefix(24 + rng.IntN(9))
			prefixes = append(prefixes, p)
		}
		trust, err := NewTrust(prefixes, false)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			a, want := narrow(rng), false
			for _, p := range prefixes {
				want = want || p.Contains(a)
			}
			if got := trust.Has(a); got != want {
				t.Fatalf("Has(%v) = %v, want %v; prefixes %v", a, got, want, prefixes)
			}
		}
	}
}

// narrow draws from few addresses, so that prefixes meet.
func narrow(rng *rand.Rand) netip.Addr {
	if rng.IntN(2) == 0 {
		return netip.AddrFrom4([4]byte{10, 0, byte(rng.IntN(3)), byte(rng.IntN(256))})
	}
	return netip.AddrFrom16([16]byte{10, 0, byte(rng.IntN(3)), byte(rng.IntN(256))})
}

func TestTrustUnix(t *testing.T) {
	for _, unix := range []bool{false, true} {
		trust, err := NewTrust(nil, unix)
		if err != nil {
			t.Fatal(err)
		}
		if trust.Has(netip.Addr{}) != unix || trust.Has(netip.MustParseAddr("127.0.0.1")) {
			t.Errorf("unix %v: trusts %v and loopback %v", unix, trust.Has(netip.Addr{}), trust.Has(netip.MustParseAddr("127.0.0.1")))
		}
	}
	if new(Trust).Has(netip.Addr{}) {
		t.Error("the zero Trust trusts")
	}
}

func TestTrustSpellings(t *testing.T) {
	trust, err := NewTrust([]netip.Prefix{netip.MustParsePrefix("::ffff:10.1.2.3/104")}, false)
	if err != nil {
		t.Fatal(err)
	}
	if !trust.Has(netip.MustParseAddr("10.200.0.1")) || trust.Has(netip.MustParseAddr("11.0.0.1")) {
		t.Error("a mapped prefix with host bits is not read as 10.0.0.0/8")
	}
}

func TestNewTrustRefuses(t *testing.T) {
	for _, p := range []netip.Prefix{
		{}, netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"), netip.MustParsePrefix("::ffff:0.0.0.0/96"),
		netip.MustParsePrefix("::ffff:0.0.0.0/20"),
	} {
		if _, err := NewTrust([]netip.Prefix{p}, true); err == nil {
			t.Errorf("NewTrust(%v) took it", p)
		}
	}
}
