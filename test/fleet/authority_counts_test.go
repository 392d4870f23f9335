package fleet

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
)

// counts pushes what nobody has counted, in the name of a node.
func (th *thief) counts(client netip.Addr, node [8]byte, n uint16) {
	th.t.Helper()
	clock, suspect := keysOf(client)
	now := time.Now()
	push := aggregator.Push{First: uint32(now.Unix()) / guardedSlot, Sum: uint32(n), Counts: []uint16{n}}
	header := aggregator.NewHeader(node, now, guardedSlot)
	if err := th.client.FCall(background, redis.LibraryName+"_push", []string{clock, suspect}, header.Append(nil), push.AppendBody(nil)).Err(); err != nil {
		th.t.Fatal(err)
	}
}

// watches has the fleet watch a client: nodes that have seen nothing of it ask for
// its total.
func (th *thief) watches(client netip.Addr) {
	th.t.Helper()
	key := aggregator.Key{Meter: guardedMeter(), Prefix: netip.PrefixFrom(client, client.BitLen())}
	if err := th.client.Do(background, "xadd", blocksKey("watch"), "*", "k", string(key.Append(nil))).Err(); err != nil {
		th.t.Fatal(err)
	}
}

// Who can write to Redis raises counts in the name of no node, or past the function in
// the fleet's own field: no node blocks by them, with a key or without, and all that see
// the client alarm. What nodes count of such a client blocks it as ever.
func TestWhoRaisesCounts(t *testing.T) {
	notUnderRace(t)
	for _, mode := range []keyMode{noKey, accept, require} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			g := startGuarded(t, mode)
			th := g.thief()
			seen, unseen := netip.MustParseAddr("203.0.113.13"), netip.MustParseAddr("203.0.113.14")
			total, real := netip.MustParseAddr("203.0.113.15"), netip.MustParseAddr("203.0.113.16")
			stranger := aggregator.NodeID("edge-9", "0123456789abcdef")
			for _, client := range []netip.Addr{seen, unseen, real} {
				th.counts(client, stranger, 1000)
			}
			th.counts(total, stranger, 1000)
			_, suspect := keysOf(total)
			if th.client.HDel(background, suspect, string(stranger[:])).Val() != 1 {
				t.Fatal("the counts have no field")
			}
			th.watches(unseen)
			for _, n := range g.nodes {
				for _, client := range []netip.Addr{seen, total} {
					if n.sends(client, guardedLimit/2-1) != 0 {
						t.Errorf("%s refuses %s below its limit", n.name, client)
					}
				}
			}
			g.alarmed("fleet_forged")
			g.noneRefused("after the attack")
			for _, n := range g.nodes {
				for _, client := range []netip.Addr{seen, unseen, total} {
					if n.blocks(netip.PrefixFrom(client, 32)) {
						t.Errorf("%s blocks %s by counts that no node made", n.name, client)
					}
				}
			}
			for _, n := range g.nodes {
				n.sends(real, guardedLimit*3/4)
			}
			g.caught(real)
		})
	}
}

// In the name of a living node he raises counts so that nodes that see the client
// block it, never what is protected: that node alarms.
func TestWhoRaisesCountsOfANode(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, require)
	th := g.thief()
	living := g.beats()["edge-1"]
	named, safe := netip.MustParseAddr("203.0.113.12"), netip.MustParseAddr("192.0.2.1")
	th.counts(named, living.ID(), 1000)
	th.counts(safe, living.ID(), 1000)
	sees := g.nodes[1]
	for _, client := range []netip.Addr{named, safe} {
		sees.sends(client, guardedLimit/2)
	}
	sees.Until("it blocks "+named.String(), func() bool { return sees.blocks(netip.PrefixFrom(named, 32)) })
	g.nodes[0].Until("the node in whose name it was done alarms", func() bool { return g.nodes[0].alarms()["fleet_forged"] > 0 })
	if sees.sends(safe, 1) != 0 {
		t.Error("a protected address is refused")
	}
}

// With heartbeats of an invented node he raises counts in its name, where nodes take
// heartbeats without a signature; with key_mode require they count nothing.
func TestWhoInventsANode(t *testing.T) {
	notUnderRace(t)
	for mode, blocks := range map[keyMode]bool{noKey: true, accept: true, require: false} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			g := startGuarded(t, mode)
			th := g.thief()
			th.beats(1)
			g.read()
			client := netip.MustParseAddr("203.0.113.18")
			th.counts(client, aggregator.NodeID("edge-100", fmt.Sprintf("%016x", 0)), 1000)
			sees := g.nodes[0]
			sees.sends(client, guardedLimit/2)
			if blocks {
				sees.Until("it blocks", func() bool { return sees.blocks(netip.PrefixFrom(client, 32)) })
				return
			}
			g.nodes[0].Until("it alarms", func() bool { return sees.alarms()["fleet_forged"] > 0 })
			if sees.blocks(netip.PrefixFrom(client, 32)) {
				t.Error("it blocks by counts of a node that it does not know")
			}
		})
	}
}

// What is written as a field's name reaches no terminal: the alarm has it in hex.
func TestStrangersNameIsSafe(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, noKey)
	th := g.thief()
	client := netip.MustParseAddr("203.0.113.19")
	th.counts(client, [8]byte([]byte("\x1b[2J\n\x00\xffx")), 1000)
	n := g.nodes[0]
	n.sends(client, guardedLimit/2)
	n.Until("it alarms", func() bool { return n.alarms()["fleet_forged"] > 0 })
	if log := n.Said(); !strings.Contains(log, "1b5b324a0a00ff78") || strings.Contains(log, "\x1b[2J") {
		t.Errorf("the log:\n%.2000s", log)
	}
}
