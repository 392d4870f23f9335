package quarantine

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/internal/fulltest"
)

// sixteens are the IPv6 /16 in which registries have networks to hand out: of 2000::/3 a
// 64th.
func sixteens() (all []netip.Prefix) {
	for _, twelve := range []uint16{0x2400, 0x2410, 0x2600, 0x2630, 0x2800, 0x2a00, 0x2a10, 0x2c00} {
		for i := range uint16(16) {
			at := twelve + i
			all = append(all, netip.PrefixFrom(netip.AddrFrom16([16]byte{byte(at >> 8), byte(at)}), 16))
		}
	}
	return append(all, netip.MustParsePrefix("2001::/16"))
}

// All IPv6 clients come from a small part of 2000::/3. A stolen node that forces or allows
// that part has a sixteenth of it in force.
func TestStolenSixteensOfIPv6(t *testing.T) {
	for name, change := range map[string]func(*edgeguard.Block){"blocks": func(*edgeguard.Block) {}, "allowances": asAllowance} {
		t.Run(name, func(t *testing.T) {
			g := newDoor(t)
			all := sixteens()
			if in := len(all) - g.writes(all, blocklist.Trust{Forced: true, Signed: true}, change); in > len(all)/16 || in == 0 {
				t.Errorf("%d of %d are in force", in, len(all))
			}
			if _, err := g.Admit(g.now, g.d, g.block("2001:db8::/32", 1), blocklist.Trust{Forced: true, Signed: true}); err != nil {
				g.waits("2001:db8::/32", true)
			}
		})
	}
}

// A block that refuses nothing new, because another node's block or allowance decides about
// its clients, is weighed by what it refuses without that: who writes it can also end it.
// Networks of a minute, with keys inside that last a year, would else refuse all clients
// within the hour, and use none of the budget.
func TestHiddenBehindAnother(t *testing.T) {
	fulltest.Only(t)
	const year = 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		allow    bool
		hides    time.Duration
		lifted   bool
		unsigned bool
	}{
		"a short block, unsigned":   {hides: 50 * time.Second, unsigned: true},
		"a short block":             {hides: 50 * time.Second},
		"a long one that is lifted": {hides: year, lifted: true},
		"an allowance":              {allow: true, hides: 50 * time.Second, unsigned: true},
		"an allowance taken back":   {allow: true, hides: year, lifted: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newDoor(t)
			trust := blocklist.Trust{Signed: !c.unsigned}
			for minute := range 60 {
				g.asked(18, 1000, 2)
				g.asked(19, 1000, 2)
				network := byte(18 + minute/30)
				hider := g.block(fmt.Sprintf("198.%d.%d.0/25", network, minute%4), uint64(2*minute+1))
				if hider.Rule, hider.Until = "site", g.now.Add(c.hides); c.allow {
					asAllowance(&hider)
				}
				_, _ = g.Admit(g.now, g.d, hider, trust)
				for k := range 128 {
					b := g.block(fmt.Sprintf("198.%d.%d.%d/32", network, minute%4, k), 1)
					b.Rule, b.Until = "site", g.now.Add(year)
					_, _ = g.Admit(g.now, g.d, b, trust)
				}
				if hider.Version++; c.lifted {
					_, _ = g.Admit(g.now, g.d, blocklist.Tombstone(hider, g.now, "", ""), trust)
				}
				g.passBy(time.Minute, 10*time.Second)
				g.list.Sweep(g.now)
			}
			refused := 0
			for _, network := range []byte{18, 19} {
				for k := range 1000 {
					if standing, _ := g.list.Find(g.now, client(network, k)); standing == blocklist.Blocked {
						refused++
					}
				}
			}
			if refused > 2000*25/100 { // the sample knows shares to some hundredths
				t.Errorf("%d of 2,000 clients are refused, with %.2f charged", refused, g.budget.sum.usedBeside(false))
			}
		})
	}
}

// What came in without a sample is charged whole once there is one, with all clients of a
// network.
func TestBlindNetworksAreChargedWhole(t *testing.T) {
	g := newDoor(t)
	if _, err := g.Admit(g.now, g.d, g.block("198.18.0.0/20", 1), blocklist.Trust{Signed: true}); err != nil {
		t.Fatal(err)
	}
	g.asked(18, 500, 3)
	g.asked(19, 500, 3)
	if g.pass(2 * time.Second); g.budget.sum.usedBeside(false) < 0.4 {
		t.Errorf("%.2f is charged for half of the requests", g.budget.sum.usedBeside(false))
	}
}

// Who can only write to Redis does not keep a node from what those with the key block: not
// by what he has in force, nor by what waits of his, nor by how much he writes.
func TestUnsignedStarvesNothingSigned(t *testing.T) {
	unseen := func(i int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{101, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
	}
	for name, writes := range map[string]func(g *door){
		"the budget is used, and more waits": func(g *door) {
			for k := range 4 { // each an eighth of the requests
				b := g.block(fmt.Sprintf("198.18.0.%d/27", 32*k), 1)
				b.Rule = "site"
				_, _ = g.Admit(g.now, g.d, b, blocklist.Trust{})
			}
		},
		"what waits is full": func(g *door) {
			g.SetMost(4000)
			g.writes(clients(16, 5000), blocklist.Trust{}, asBlock)
		},
		"the pace is used": func(g *door) {
			g.writes(clients(24, mostBlocks+1), blocklist.Trust{}, asBlock)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newDoor(t)
			g.asked(18, 256, 8)
			writes(g)
			if g.Stats().Held == 0 {
				t.Fatal("nothing waits")
			}
			for _, p := range []string{unseen(1).String(), "198.18.0.200/32", "203.0.113.0/24"} { // no requests, some, a network
				b, trust := signed(g, p)
				if _, err := g.Admit(g.now, g.d, b, trust); err != nil {
					t.Errorf("%s: %v", p, err)
				}
			}
			if name == "the budget is used, and more waits" {
				b, trust := byRule(g, unseen(2).String())
				if _, err := g.Admit(g.now, g.d, b, trust); err == nil {
					t.Error("an unsigned one of no requests is in force while one of some waits")
				}
			}
		})
	}
}

// What an operator of this node blocks for ten minutes is not blocked for a year, whole or
// in pieces, because another node says so. What a rule found here is: it would be found
// again.
func TestOwnBlockIsNotProlonged(t *testing.T) {
	for _, rule := range []string{edgeguard.ManualRule, "site"} {
		g := newDoor(t)
		g.asked(18, 1000, 3)
		own := g.block("198.18.0.0/24", 1)
		own.Rule, own.Until = rule, g.now.Add(10*time.Minute)
		if _, _, err := g.list.Add(own, false, g.now); err != nil {
			t.Fatal(err)
		}
		whole := g.block("198.18.0.0/24", 9)
		whole.Rule, whole.Until = "site", g.now.Add(365*24*time.Hour)
		_, _ = g.Admit(g.now, g.d, whole, blocklist.Trust{})
		for k := range 256 {
			b := g.block(client(18, k).String()+"/32", 1)
			b.Rule, b.Until = "site", whole.Until
			_, _ = g.Admit(g.now, g.d, b, blocklist.Trust{})
		}
		g.pass(2 * time.Second)
		g.now = g.now.Add(20 * time.Minute)
		g.list.Sweep(g.now)
		refused := 0
		for k := range 256 {
			if standing, _ := g.list.Find(g.now, client(18, k)); standing == blocklist.Blocked {
				refused++
			}
		}
		if counted := rule == "site"; counted != (refused == 256) || !counted && refused > 230 {
			t.Errorf("%s: %d of 256 clients are refused", rule, refused)
		}
	}
}

// A restart does not let in what found no room among what waits: unsigned keys come in at a
// hundred a minute, as on a node that has seen nothing, until there is a sample.
func TestRestartLetsNothingIn(t *testing.T) {
	g := newDoor(t)
	g.asked(18, 1000, 3)
	g.SetMost(400)
	g.writes(clients(16, 100), blocklist.Trust{}, asBlock)
	next := newDoor(t)
	next.SetMost(400)
	next.Restore(next.now, g.HeldRecords(), nil)
	var keys []netip.Prefix
	for k := range 1000 {
		keys = append(keys, netip.PrefixFrom(client(18, k), 32))
	}
	if in := len(keys) - next.writes(keys, blocklist.Trust{}, asBlock); in > mostKeys {
		t.Errorf("%d of %d unsigned keys are in force, without a request seen", in, len(keys))
	}
	if n := next.Stats().Held; n > 75 {
		t.Errorf("%d unsigned wait, and leave no room", n)
	}
}

// What waits for the budget says what has used it.
func TestSummarySaysWhatIsCharged(t *testing.T) {
	g := newDoor(t)
	g.asked(18, 256, 8)
	for _, p := range []string{"198.18.0.0/27", "198.18.0.32/27"} { // an eighth of the requests each
		b, trust := byRule(g, p)
		_, _ = g.Admit(g.now, g.d, b, trust)
	}
	if said := g.Summary(g.now, g.d, 0).String(); !strings.Contains(said, "or room, while other nodes' blocks in force have used 1") || !strings.Contains(said, " of the 20 % of confirm_share") {
		t.Error(said)
	}
	g = newDoor(t)
	g.asked(18, 256, 8)
	b, trust := byRule(g, "198.18.0.0/24")
	if _, _ = g.Admit(g.now, g.d, b, trust); strings.Contains(g.Summary(g.now, g.d, 0).String(), "used") {
		t.Error("what is too much by itself does not wait for the budget")
	}
}
