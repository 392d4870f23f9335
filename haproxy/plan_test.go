package haproxy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

var epoch = time.Unix(1_700_000_000, 0)

// refuses reports what HAProxy does: the longest prefix with an entry decides.
func refuses(set map[netip.Prefix]time.Time, plan BlockPlan, addr netip.Addr, now time.Time) bool {
	for i := range tables {
		bits := tables[i].prefixBits(addr.Is4())
		if bits == 0 {
			continue
		}
		p, _ := addr.Prefix(bits)
		if set[p].After(now) {
			return true
		}
		if e := plan.Entries[BlockKey{i, p.Addr()}]; e.Until.After(now) {
			return e.Value == BlockedGPT
		}
	}
	return false
}

// covered reports whether a prefix of the set covers addr, of those that are not left.
func covered(set map[netip.Prefix]time.Time, plan BlockPlan, addr netip.Addr, now time.Time) bool {
	for p, until := range set {
		if p.Contains(addr) && until.After(now) && !plan.Left[p] {
			return true
		}
	}
	return false
}

func setOf(prefixes ...string) map[netip.Prefix]time.Time {
	set := make(map[netip.Prefix]time.Time)
	for _, p := range prefixes {
		set[netip.MustParsePrefix(p)] = epoch.Add(time.Hour)
	}
	return set
}

// around returns a block with holes, as enforce.Around cuts it.
func around(block string, holes ...string) map[netip.Prefix]time.Time {
	var pieces []piece
	for _, h := range holes {
		pieces = append(pieces, piece{prefix: netip.MustParsePrefix(h)})
	}
	set := make(map[netip.Prefix]time.Time)
	for _, p := range holesIn(netip.MustParsePrefix(block), pieces) {
		set[p] = epoch.Add(time.Hour)
	}
	return set
}

func TestPlanSizes(t *testing.T) {
	for name, c := range map[string]struct {
		set                   map[netip.Prefix]time.Time
		entries, spared, left int
	}{
		"lengths with a table":       {setOf("192.0.2.1/32", "192.0.2.0/24", "192.0.0.0/16", "2001:db8::1/128", "2001:db8::/64", "2001:db8::/56", "2001:db8::/48"), 0, 0, 0},
		"a /25 is a half of its /24": {setOf("192.0.2.0/25"), 128, 0, 0},
		"three quarters are spared":  {setOf("192.0.2.0/25", "192.0.2.128/26"), 1 + 64, 64, 0},
		"two halves are a whole":     {setOf("2001:db8::/65", "2001:db8:0:0:8000::/65"), 1, 0, 0},
		"a /17":                      {setOf("192.0.0.0/17"), 128, 0, 0},
		"a /8 is 256 of /16":         {setOf("10.0.0.0/8"), 256, 0, 0},
		"a /7 is left":               {setOf("10.0.0.0/7", "2001:d00::/39", "2001:db8::/65", "2001:db8:1::/119"), 0, 0, 4},
		"an address in a /24":        {around("192.0.2.0/24", "192.0.2.77/32"), 2, 1, 0},
		"an address in a /16":        {around("192.0.0.0/16", "192.0.2.77/32"), 3, 1, 0},
		"an address in a /64":        {around("2001:db8::/64", "2001:db8::77/128"), 2, 1, 0},
		"an address in a /48":        {around("2001:db8::/48", "2001:db8::77/128"), 4, 1, 0},
		"a /120 in a /64":            {around("2001:db8::/64", "2001:db8::/121"), 129, 128, 0},
		"a /100 in a /64":            {around("2001:db8::/64", "2001:db8::/100"), 0, 0, 36},
	} {
		plan := NewBlockPlan(c.set)
		spared := 0
		for _, e := range plan.Entries {
			if e.Value == Spared {
				spared++
			}
		}
		listed := 0
		for k, spares := range plan.Spares {
			listed += len(spares)
			for _, s := range spares {
				if s.Table >= k.Table || tables[s.Table].Expire <= tables[k.Table].Expire || !k.Prefix().Contains(s.Addr) {
					t.Errorf("%s: %v spares %v", name, k, s)
				}
			}
		}
		if len(plan.Entries) != c.entries || spared != c.spared || listed != spared || len(plan.Left) != c.left {
			t.Errorf("%s: %d entries, %d spared, %d listed, left %v", name, len(plan.Entries), spared, listed, plan.Left)
		}
	}
}

// TestPlan compares random sets, with their holes and ends, with what they mean.
func TestPlan(t *testing.T) {
	for seed := range uint64(3000) {
		dice := rand.New(rand.NewPCG(seed, 1))
		set := random(dice)
		plan := NewBlockPlan(set)
		for _, now := range []time.Time{epoch, epoch.Add(time.Minute), epoch.Add(time.Hour)} {
			for p := range set {
				for _, addr := range []netip.Addr{p.Addr(), p.Addr().Prev(), last(p), last(p).Next(), near(dice)} {
					if !addr.IsValid() {
						continue
					}
					if got, want := refuses(set, plan, addr, now), covered(set, plan, addr, now); got != want {
						t.Fatalf("seed %d: %s is refused %t, want %t: %v becomes %v", seed, addr, got, want, set, plan)
					}
				}
			}
		}
	}
}

func random(dice *rand.Rand) map[netip.Prefix]time.Time {
	set := make(map[netip.Prefix]time.Time)
	ends := []time.Time{epoch.Add(time.Minute), epoch.Add(time.Hour), epoch.Add(2 * time.Hour)}
	for range 1 + dice.IntN(3) {
		a := near(dice)
		lengths := []int{14, 16, 17, 20, 23, 24, 24, 25, 30, 32}
		if a.Is6() {
			lengths = []int{44, 48, 50, 55, 56, 60, 64, 64, 65, 100, 120, 126, 128}
		}
		outer, _ := a.Prefix(lengths[dice.IntN(len(lengths))])
		var pieces []piece
		for range dice.IntN(3) {
			hole, _ := near(dice).Prefix(lengths[dice.IntN(len(lengths))])
			if outer.Contains(hole.Addr()) && hole.Bits() > outer.Bits() && len(pieces) == 0 {
				pieces = append(pieces, piece{prefix: hole})
			}
		}
		until := ends[dice.IntN(len(ends))]
		for _, p := range holesIn(outer, pieces) {
			if set[p].Before(until) {
				set[p] = until
			}
		}
	}
	return set
}

func near(dice *rand.Rand) netip.Addr {
	b := func(n int) byte { return byte(dice.IntN(n)) }
	if dice.IntN(2) == 0 {
		return netip.AddrFrom4([4]byte{198, 50 + b(2), b(3), b(4)})
	}
	return netip.AddrFrom16([16]byte{0x20, 0x01, 0xd, 0xb8, 5: b(2), 6: b(2), 7: b(3), 8: b(2) << 7, 15: b(3)})
}

// last returns the last address of a prefix.
func last(p netip.Prefix) netip.Addr {
	addr := p.Addr().AsSlice()
	for i := p.Bits(); i < len(addr)*8; i++ {
		addr[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(addr)
	return a
}

// However many prefixes there are, the entries for those without a table are bounded.
func TestPlanIsBounded(t *testing.T) {
	set := make(map[netip.Prefix]time.Time)
	for i := range 1000 {
		set[netip.MustParsePrefix(fmt.Sprintf("10.%d.%d.0/25", i/256, i%256))] = epoch
	}
	plan := NewBlockPlan(set)
	if len(plan.Entries) != mostOfAll || len(plan.Left) != 1000-mostOfAll/128 {
		t.Errorf("%d entries, %d left", len(plan.Entries), len(plan.Left))
	}
}
