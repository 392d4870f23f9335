package quarantine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
	"edgeguard/blocklist/width"
	"edgeguard/internal/fulltest"
)

// clients are the first networks of a length from which clients come: none of hosts and
// groups.
func clients(bits, most int) (all []netip.Prefix) {
	for o := 1; o < 224; o++ {
		if o == 10 || o == 127 {
			continue
		}
		for i := range min(1<<(bits-8), most-len(all)) {
			a := uint32(o)<<24 | uint32(i)<<(32-bits)
			all = append(all, netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}), bits))
		}
	}
	return all
}

// writes admits records of prefixes, and returns how many wait.
func (g *door) writes(all []netip.Prefix, trust blocklist.Trust, change func(*edgeguard.Block)) (waiting int) {
	g.t.Helper()
	return g.each(len(all), func(i int) (edgeguard.Block, blocklist.Trust) {
		b := g.block(all[i].String(), 7)
		if change(&b); b.Lifted {
			b = blocklist.Tombstone(b, g.now, "", "")
		}
		return b, trust
	})
}

func asBlock(b *edgeguard.Block)     { b.Rule = "site" }
func asAllowance(b *edgeguard.Block) { b.Allow, b.Rule = true, "" }

// width returns how wide what is in force of others' records is.
func (g *door) width(kind blocklist.Whose, allow bool) width.Width {
	return g.list.Elsewhere()[blocklist.Source{Kind: kind, Allow: allow}].Width
}

// refusedOf returns how many of 200 random clients are refused.
func (g *door) refusedOf() (n int) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 200 {
		addr := netip.AddrFrom4([4]byte{byte(11 + rng.IntN(110)), byte(rng.IntN(256)), byte(rng.IntN(256)), 9})
		if standing, _ := g.list.Find(g.now, addr); standing == blocklist.Blocked {
			n++
		}
	}
	return n
}

// Who can write to Redis writes every /16, unforced: on a quiet node, and on one with
// traffic, none is in force, and it is said.
func TestUnsignedSixteens(t *testing.T) {
	fulltest.Only(t)
	for name, requests := range map[string]int{"without traffic": 0, "with little": 30, "with traffic": 2000} {
		t.Run(name, func(t *testing.T) {
			g := newDoor(t)
			g.asked(18, requests, 1)
			all := clients(16, 1<<16)
			if waiting := g.writes(all, blocklist.Trust{}, asBlock); waiting != len(all) || g.list.Len() != 0 {
				t.Errorf("%d of %d wait", waiting, len(all))
			}
			g.passBy(10*time.Minute, 10*time.Second)
			if g.refusedOf() != 0 || g.Summary(g.now, g.d, 0).Blocks != len(all) {
				t.Errorf("%d refused, %+v", g.refusedOf(), g.Summary(g.now, g.d, 0))
			}
		})
	}
}

// Narrower ones are in force up to a 256th of the address space, blocks and allowances
// each. Single keys, which others of the fleet block, come in all the same.
func TestUnsignedWidth(t *testing.T) {
	fulltest.Only(t)
	g := newDoor(t)
	g.asked(18, 1000, 2)
	nets := clients(24, 70_000)
	for n := 0; n < len(nets); n += mostBlocks {
		g.writes(nets[n:min(n+mostBlocks, len(nets))], blocklist.Trust{}, asBlock)
		g.passBy(time.Minute, 10*time.Second)
	}
	g.passBy(5*time.Minute, 10*time.Second)
	most := width.PartOfSpace(256).V4
	if got := g.width(blocklist.Unsigned, false).V4; got > most || got < most*9/10 {
		t.Errorf("%d addresses are refused, of at most %d", got, most)
	}
	key := netip.MustParsePrefix("203.0.113.9/32")
	if g.writes([]netip.Prefix{key}, blocklist.Trust{}, asBlock) != 0 {
		t.Error("a single key waits behind networks")
	}
	if g.writes([]netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}, blocklist.Trust{}, asAllowance) != 0 {
		t.Error("an allowance waits behind blocks")
	}
}

// A stolen node with the key forces all /8 and allows all /8: a sixteenth of each is in
// force. No record lifts that, a confirmation of another node included; that of this node's
// operator does, for what he confirms.
func TestStolenEights(t *testing.T) {
	fulltest.Only(t)
	signed := blocklist.Trust{Forced: true, Signed: true}
	for name, change := range map[string]func(*edgeguard.Block){"blocks": func(*edgeguard.Block) {}, "unforced": asBlock, "allowances": asAllowance} {
		t.Run(name, func(t *testing.T) {
			g := newDoor(t)
			g.asked(18, 1000, 3)
			bits, trust := 8, signed
			if name == "unforced" {
				bits, trust.Forced = 16, false
			}
			all := clients(bits, 1<<16)
			g.writes(all, trust, change)
			g.passBy(10*time.Minute, 10*time.Second)
			allow := name == "allowances"
			most := width.PartOfSpace(16).V4
			got := g.width(blocklist.Signed, allow).V4
			if got > most || got < most*9/10 {
				t.Errorf("%d addresses, of at most %d", got, most)
			}
			var one edgeguard.Block
			for _, held := range g.HeldRecords() {
				if held.Why == Wide {
					one = held.Block
				}
			}
			again := one
			again.Version += 1 << 40
			if _, err := g.Admit(g.now, g.d, again, blocklist.Trust{Forced: true, Signed: true}); !errors.Is(err, aggregator.ErrHeld) {
				t.Errorf("another node's confirmation: %v", err)
			}
			if _, ok, err := g.Confirm(g.now, one.Prefix); !ok || err != nil || g.width(blocklist.Signed, allow).V4 != got {
				t.Errorf("confirmed here: %v, %v; %d addresses are others'", ok, err, g.width(blocklist.Signed, allow).V4)
			}
			if standing, _ := g.list.Find(g.now, one.Prefix.Addr().Next()); standing == blocklist.None {
				t.Error("what was confirmed is not in force")
			}
		})
	}
}

// Whatever a stolen node writes, in whatever order and length of time: no more is refused
// and spared on its word than a sixteenth of the address space each, and unsigned a 256th.
func TestStolenNodeRuns(t *testing.T) {
	fulltest.Only(t)
	for run := range 100 {
		seed := uint64(time.Now().UnixNano()) + uint64(run)
		rng := rand.New(rand.NewPCG(seed, seed))
		g := newDoor(t)
		g.asked(18, []int{0, 150, 1000}[rng.IntN(3)], 1+rng.IntN(3))
		for range 300 {
			p := drawn(rng)
			b := g.block(p.String(), 1+rng.Uint64N(1<<40))
			b.Until = g.now.Add(time.Duration(1+rng.IntN(48)) * 30 * time.Minute)
			switch rng.IntN(8) {
			case 0, 1:
				asAllowance(&b)
			case 2:
				b = blocklist.Tombstone(b, g.now, "", "")
			case 3, 4:
				asBlock(&b)
			}
			trust := blocklist.Trust{Forced: rng.IntN(3) > 0 || isWide(p), Signed: rng.IntN(4) > 0}
			if _, err := g.Admit(g.now, g.d, b, trust); err == nil && rng.IntN(10) == 0 {
				trust.Signed = true // the signature comes later
				_, _ = g.Admit(g.now, g.d, b, trust)
			}
			if rng.IntN(10) == 0 {
				g.pass(time.Duration(rng.IntN(3)) * time.Second)
				g.now = g.now.Add(time.Duration(rng.IntN(60)) * time.Minute)
			}
			for _, allow := range []bool{false, true} {
				for kind, most := range map[blocklist.Whose]width.Width{blocklist.Signed: width.PartOfSpace(16), blocklist.Unsigned: width.PartOfSpace(256)} {
					if got := g.width(kind, allow); !got.Within(most) {
						t.Fatalf("seed %d: %+v of %s, allowed %v", seed, got, kind, allow)
					}
				}
			}
		}
	}
}

// drawn returns a network of any length that travels.
func drawn(rng *rand.Rand) netip.Prefix {
	if rng.IntN(4) == 0 {
		p, _ := netip.AddrFrom16([16]byte{0x20 | byte(rng.IntN(32)), byte(rng.Uint32()), byte(rng.Uint32())}).Prefix(16 + rng.IntN(49))
		return p
	}
	p, _ := netip.AddrFrom4([4]byte{byte(1 + rng.IntN(220)), byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32())}).Prefix(8 + min(rng.IntN(25), rng.IntN(25)))
	return p
}

// charged returns what the state file has of the charges.
func (g *door) charged() map[netip.Prefix]float64 {
	all := make(map[netip.Prefix]float64)
	for b := range g.list.Records() {
		if share := g.ChargedShare(b.Prefix); share > 0 {
			all[b.Prefix] = share
		}
	}
	return all
}

// A charge lasts as long as its block, over a restart too, and ends with what confirms it.
func TestChargesLast(t *testing.T) {
	const first, second = "198.18.0.0/25", "198.18.0.128/25" // a seventh of the requests each
	begin := func(t *testing.T) *door {
		g := newDoor(t)
		g.SetLimit(0.2)
		g.asked(18, 1000, 3)
		if err := g.merge(g.block(first, 1), false); err != nil || g.ChargedShare(netip.MustParsePrefix(first)) == 0 {
			t.Fatal(err, g.budget)
		}
		g.now = g.now.Add(10 * time.Minute)
		g.asked(18, 1000, 3)
		g.Sweep(g.now, g.d)
		return g
	}
	for name, c := range map[string]struct {
		do   func(g *door) *door
		fits bool
	}{
		"ten minutes later":   {func(g *door) *door { return g }, false},
		"counted here":        {func(g *door) *door { _, _, _ = g.list.Add(g.block(first, 9), false, g.now); return g }, true},
		"proven":              {func(g *door) *door { g.Found(g.now, netip.MustParsePrefix(first)); return g }, true},
		"confirmed by hand":   {func(g *door) *door { _, _, _ = g.list.Add(g.block(first, 9), true, g.now); return g }, true},
		"lifted":              {func(g *door) *door { g.list.Lift(netip.MustParsePrefix(first), g.now, "", ""); return g }, true},
		"extended by another": {func(g *door) *door { _ = g.merge(g.block(first, 9), false); return g }, false},
		"after a restart": {func(g *door) *door {
			next := newDoor(g.t)
			next.now = g.now
			next.list.Restore(g.list.Records(), g.now)
			next.Restore(g.now, g.HeldRecords(), g.charged())
			next.asked(18, 1000, 3)
			return next
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := c.do(begin(t))
			g.Sweep(g.now, g.d)
			if err := g.merge(g.block(second, 1), false); (err == nil) != c.fits {
				t.Errorf("the second: %v, with %.2f charged", err, g.budget.sum.usedBeside(false))
			}
			g.now = g.now.Add(2 * time.Hour) // both have ended
			if g.Sweep(g.now, g.d); g.budget.sum != (sums{}) || len(g.held) != 0 {
				t.Errorf("%+v after the end", g.budget)
			}
		})
	}
}

// What found no room in the budget needs no operator: it comes in when there is some.
func TestRoomInTheBudget(t *testing.T) {
	g := newDoor(t)
	g.asked(18, 1000, 3)
	for _, p := range []string{"198.18.0.0/25", "198.18.0.128/25"} {
		_ = g.merge(g.block(p, 1), false)
	}
	unseen := g.block("203.0.113.9/32", 1)
	_ = g.merge(unseen, false)
	g.waits("198.18.0.128/25", true)
	g.waits("203.0.113.9/32", true)
	g.Sweep(g.now, g.d)
	g.waits("203.0.113.9/32", true)
	g.Found(g.now, netip.MustParsePrefix("198.18.0.0/25"))
	g.Sweep(g.now, g.d)
	g.Sweep(g.now, g.d)
	for _, p := range []string{"198.18.0.0/25", "198.18.0.128/25", "203.0.113.9/32"} {
		g.inForce(p, true)
	}
}

// A node that has seen under a hundred requests in a day admits unsigned keys at a hundred
// a minute, and no unsigned network. Once there is a sample all is weighed, and what came in
// is charged.
func TestTooLittleTraffic(t *testing.T) {
	g := newDoor(t)
	g.Joined()
	g.asked(18, 60, 1)
	var all []netip.Prefix
	for k := range 150 {
		all = append(all, netip.PrefixFrom(client(18, k), 32))
	}
	if waiting := g.writes(all, blocklist.Trust{}, asBlock); waiting != 50 {
		t.Errorf("%d of 150 keys wait", waiting)
	}
	network := netip.MustParsePrefix("198.19.0.0/24")
	if g.writes([]netip.Prefix{network}, blocklist.Trust{}, asBlock) != 1 || g.HeldRecords()[len(g.HeldRecords())-1].Why != Unseen {
		t.Errorf("%+v", g.HeldRecords())
	}
	if n := g.writes([]netip.Prefix{netip.MustParsePrefix("203.0.0.0/20")}, blocklist.Trust{Signed: true}, asBlock); n != 0 {
		t.Error("a signed network waits")
	}
	g.Sweep(g.now, g.d)
	g.waits(network.String(), true)
	g.asked(18, 60, 3)
	g.asked(19, 60, 1)
	g.now = g.now.Add(time.Second)
	g.Sweep(g.now, g.d)
	if g.budget.sum.usedBeside(false) < 0.5 { // 60 of the blocked clients sent three quarters of the requests
		t.Errorf("%.2f is charged for what came without a sample", g.budget.sum.usedBeside(false))
	}
	g.waits(network.String(), true) // a quarter of the requests, and no room
	for _, one := range g.HeldRecords() {
		if one.Why == Unseen || one.Why == Pace {
			t.Errorf("%s is not weighed: %s", one.Prefix, one.Why)
		}
	}
}

// A node that joins without having seen a request takes the fleet's list of 100,000 keys at
// once, and is bounded by width.
func TestJoinTakesTheList(t *testing.T) {
	g := newDoor(t)
	const n = 100_000
	if waiting := g.each(n, func(i int) (edgeguard.Block, blocklist.Trust) {
		return byRule(g, netip.PrefixFrom(netip.AddrFrom4([4]byte{101, byte(i >> 16), byte(i >> 8), byte(i)}), 32).String())
	}); waiting != 0 || g.list.Len() != n {
		t.Errorf("%d of %d wait", waiting, n)
	}
	if waiting := g.writes([]netip.Prefix{netip.MustParsePrefix("102.0.0.0/16")}, blocklist.Trust{}, asBlock); waiting != 1 {
		t.Error("a wide one is in force")
	}
}

// A /20 that is four fifths of a quiet node waits there, by the last thousand requests.
func TestMostOfAQuietNode(t *testing.T) {
	g := newDoor(t)
	for range 240 { // a request every five minutes: a day's
		g.asked(18, 4, 1)
		g.asked(19, 1, 1)
		g.now = g.now.Add(5 * time.Minute)
	}
	much := g.block("198.18.0.0/20", 1)
	if err := g.merge(much, false); !errors.Is(err, aggregator.ErrHeld) {
		t.Fatalf("%v", err)
	}
	if share := g.HeldRecords()[0].Share; share < 0.6 || share > 0.95 {
		t.Errorf("its share is %.2f", share)
	}
	if err := g.merge(g.block("203.0.0.0/20", 1), false); err != nil {
		t.Errorf("one of no client: %v", err)
	}
}

// A day of floods: each hour two hundred clients attack, most of the traffic, other nodes
// block them first, and the counts prove it. Nothing is left waiting, and nobody had to
// confirm anything. Meanwhile an operator elsewhere has blocked a seventh of the traffic.
func TestADayOfFloods(t *testing.T) {
	g := newDoor(t)
	g.asked(18, 1000, 3)
	if err := g.merge(g.block("198.18.0.0/25", 1), false); err != nil {
		t.Fatal(err)
	}
	for hour := range 24 {
		g.asked(18, 1000, 3)
		g.asked(byte(100+hour), 200, 15)
		if b := g.block("198.18.0.0/25", uint64(2+hour)); g.merge(b, false) != nil {
			t.Errorf("hour %d: the operator's block waits", hour)
		}
		var flood []edgeguard.Block
		for k := range 200 {
			b := g.block(netip.PrefixFrom(client(byte(100+hour), k), 32).String(), 1)
			b.Rule, b.Until = "site", g.now.Add(10*time.Minute)
			_ = g.merge(b, false)
			flood = append(flood, b)
		}
		_ = g.merge(g.block(fmt.Sprintf("203.0.113.%d/32", hour), 1), false) // seen by others only
		g.pass(2 * time.Second)
		for _, b := range flood { // the totals come
			if !g.Found(g.now, b.Prefix) && g.list.BlockOf(g.now, b.Prefix) == nil {
				b.Origin = "edge-1"
				_, _, _ = g.list.Add(b, false, g.now)
			}
		}
		g.pass(3 * time.Second)
		if s := g.Stats(); s.Held != 0 || s.Confirmed != 0 {
			t.Fatalf("hour %d: %+v", hour, s)
		}
		g.now = g.now.Add(time.Hour - 5*time.Second)
		g.list.Sweep(g.now)
		g.Sweep(g.now, g.d)
	}
}

// An emergency's /16 is in force on fifty nodes as soon as each has received it: no node
// holds it, however much of its traffic it is.
func TestEmergency(t *testing.T) {
	for range 50 {
		g := newDoor(t)
		g.asked(18, 300, 4)
		if _, err := g.Admit(g.now, g.d, g.block("198.18.0.0/16", 1), blocklist.Trust{Forced: true, Signed: true}); err != nil {
			t.Fatal(err)
		}
		g.inForce("198.18.0.0/16", true)
	}
}
