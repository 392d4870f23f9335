package fleet

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/aggregator"
)

// attack is something that a thief with a node's Redis user does to a fleet.
type attack struct {
	name string
	// do attacks, and checks what came of it.
	do func(g *guarded, th *thief)
}

var attacks = []attack{
	{"blocks_everything", blocksEverything},
	{"blocks_protected", blocksProtected},
	{"allows_eights", allowsEights},
	{"allows_3000", allows3000},
	{"claims_own", claimsOwn},
	{"floors", forgetsAhead},
	{"clock", movesClock},
	{"forged_beats", forgesBeats},
	{"suppresses", suppresses},
}

// What a thief does with a node's Redis user, in fleets without a key, and with one.
// With key_mode require it has no effect; without a key it raises an alarm and
// overrides nothing that is protected.
func TestThief(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for _, mode := range []keyMode{noKey, accept, require} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			for _, a := range attacks {
				t.Run(a.name, func(t *testing.T) {
					t.Parallel()
					g := startGuarded(t, mode)
					a.do(g, g.thief())
				})
			}
		})
	}
}

// strangers are clients that sent nothing so far.
var strangers = []netip.Addr{
	netip.MustParseAddr("203.0.113.200"), netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("2001:db8:ffff::1"), address(0),
}

// noneRefused checks that the nodes refuse no client, and block and allow nothing but
// what is given.
func (g *guarded) noneRefused(when string, but ...netip.Prefix) {
	g.t.Helper()
	for _, n := range g.nodes {
		for _, client := range strangers {
			if n.sends(client, 1) != 0 {
				g.t.Errorf("%s, %s refuses %s", when, n.name, client)
			}
		}
		blocks, allowances := n.listed()
		blocks = slices.DeleteFunc(blocks, func(p netip.Prefix) bool { return slices.Contains(but, p) })
		if len(blocks) > 0 || len(allowances) > 0 {
			g.t.Errorf("%s, %s blocks %.5v and allows %.5v", when, n.name, blocks, allowances)
		}
	}
}

// networks returns the first n IPv4 networks of a length.
func networks(bits, n int) (all []netip.Prefix) {
	for i := range n {
		a := uint32(i) << (32 - bits)
		all = append(all, netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}), bits))
	}
	return all
}

func blocksEverything(g *guarded, th *thief) {
	all := networks(8, 256)
	for _, wide := range []string{"0.0.0.0/0", "::/0", "0.0.0.0/1", "128.0.0.0/1", "128.0.0.0/2", "2000::/3", "::/16", "2001::/16", "198.0.0.0/10", "198.18.0.0/15"} {
		all = append(all, netip.MustParsePrefix(wide))
	}
	th.writes(all, nil)
	g.twice(func(when string) { g.noneRefused(when) })
	if g.mode != require {
		g.alarmed("fleet_rejected", "fleet_held")
	}
}

func blocksProtected(g *guarded, th *thief) {
	own := []netip.Prefix{protected, netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("::1/128")}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		g.t.Fatal(err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Zone() == "" {
			own = append(own, netip.PrefixFrom(p.Addr(), p.Addr().BitLen()))
		}
	}
	th.writes(own, nil)
	g.twice(func(when string) {
		for _, n := range g.nodes {
			for _, p := range own {
				if n.sends(p.Addr(), 1) != 0 {
					g.t.Errorf("%s, %s refuses %s", when, n.name, p)
				}
			}
			if blocks, _ := n.listed(); slices.ContainsFunc(blocks, func(p netip.Prefix) bool { return slices.Contains(own, p) }) {
				g.t.Errorf("%s, %s blocks %v", when, n.name, blocks)
			}
		}
	})
	if g.mode != require {
		g.alarmed("fleet_rejected")
	}
}

func allowsEights(g *guarded, th *thief) { allows(g, th, networks(8, 256)) }

func allows3000(g *guarded, th *thief) {
	allows(g, th, networks(16, 1<<16)[50_500:53_500]) // 198.18.0.0/16 and 203.0.0.0/16 are among them
}

// allows checks that allowances exempt nobody: a client that is blocked stays so, and
// another is caught.
func allows(g *guarded, th *thief, all []netip.Prefix) {
	blocked := netip.MustParsePrefix("203.0.113.66/32")
	if _, err := g.nodes[0].admin.Block(background, admin.BlockRequest{Prefix: blocked.String(), Reason: "by hand"}); err != nil {
		g.t.Fatal(err)
	}
	th.writes(all, func(r *aggregator.Record) { r.Block.Allow, r.Block.Rule = true, "" })
	g.twice(func(when string) {
		g.noneRefused(when, blocked)
		for _, n := range g.nodes {
			if n.sends(blocked.Addr(), 1) != 1 {
				g.t.Errorf("%s, %s lets %s pass", when, n.name, blocked)
			}
		}
	})
	over := netip.MustParseAddr("203.0.113.67")
	g.spreads(over)
	g.caught(over)
	if g.mode != require {
		g.alarmed("fleet_held")
	}
}

func claimsOwn(g *guarded, th *thief) {
	attacker := netip.MustParseAddr("203.0.113.90")
	th.beats(1, attacker)
	g.read()
	for _, n := range g.nodes {
		if got := n.sends(attacker, guardedLimit+10); got == 0 {
			g.t.Errorf("%s refused none of %d requests", n.name, guardedLimit+10)
		}
	}
}

func forgetsAhead(g *guarded, th *thief) {
	attacker := netip.MustParseAddr("203.0.113.91")
	th.floors(attacker, 5*time.Minute)
	began := time.Now()
	g.spreads(attacker)
	g.caught(attacker)
	g.t.Logf("%s: found after %v", g.mode, time.Since(began).Round(100*time.Millisecond))
	// The node that takes the mark back alarms; the others may no longer see it.
	g.nodes[0].Until("a node alarms: fleet_forged", func() bool {
		return slices.ContainsFunc(g.nodes, func(n *guardedNode) bool { return n.alarms()["fleet_forged"] > 0 })
	})
}

func movesClock(g *guarded, th *thief) {
	attacker := netip.MustParseAddr("203.0.113.92")
	for p := range partitions {
		key := clockKey(p)
		for _, command := range [][]any{
			{"set", key, 10_000}, {"fcall", "edgeguard1_replay_clock", 1, key, 10_000},
		} {
			_ = th.client.Do(background, command...).Err() // it may be refused
		}
		if p%2 == 0 {
			_ = th.client.Del(background, key).Err()
			_ = th.client.HSet(background, key, "a", "b").Err()
		}
	}
	g.spreads(attacker)
	g.caught(attacker)
	g.read()
	for _, n := range g.nodes {
		if s, err := n.admin.Status(background); err != nil || !s.Fleet.Up {
			g.t.Errorf("%s is cut off: %+v, %v", n.name, s.Fleet, err)
		}
	}
}

func forgesBeats(g *guarded, th *thief) {
	th.beats(40)
	g.read()
	// The first is pushed, so the second would have been.
	seen, once := netip.MustParseAddr("203.0.113.93"), netip.MustParseAddr("203.0.113.94")
	for _, n := range g.nodes {
		n.sends(once, 1)
		n.sends(seen, guardedLimit/2)
	}
	_, pushed := keysOf(seen)
	_, quiet := keysOf(once)
	g.nodes[0].Until("a key with half of a limit is pushed", func() bool { return g.redis.Exists(background, pushed).Val() == 1 })
	if g.redis.Exists(background, quiet).Val() != 0 {
		g.t.Error("a key with one request is pushed")
	}
	if g.mode != require {
		g.alarmed("fleet_nodes")
	}
}

func suppresses(g *guarded, th *thief) {
	var victims []netip.Prefix
	for i := range 4 {
		victims = append(victims, netip.MustParsePrefix(fmt.Sprintf("203.0.113.%d/32", 100+i)))
	}
	th.writes(victims, func(r *aggregator.Record) {
		r.Block.Version = 1<<64 - 2
		r.Block.Since, r.Block.Until = r.Block.Since.Add(time.Hour), r.Block.Until.Add(time.Hour)
	})
	g.read()
	for _, p := range victims {
		if _, err := g.nodes[0].admin.Block(background, admin.BlockRequest{Prefix: p.String(), Reason: "by hand"}); err != nil {
			g.t.Fatal(err)
		}
	}
	for _, n := range g.nodes {
		for _, p := range victims {
			n.Until(fmt.Sprintf("%s blocks %s", n.name, p), func() bool { return n.blocks(p) })
		}
	}
	g.twice(func(when string) {
		for _, n := range g.nodes {
			for _, p := range victims {
				if !n.blocks(p) {
					g.t.Errorf("%s, %s does not block %s", when, n.name, p)
				}
			}
		}
	})
}
