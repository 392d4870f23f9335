package fleet

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/aggregator/redis/library"
)

// counts pushes what nobody has counted, in the name of a node.
func (th *thief) counts(client netip.Addr, node [8]byte, n uint16) {
	th.t.Helper()
	clock, suspect := keysOf(client)
	now := time.Now()
	push := aggregator.Push{First: uint32(now.Unix()) / guardedSlot, Sum: uint32(n), Counts: []uint16{n}}
	header := aggregator.NewHeader(node, now, guardedSlot)
	if err := th.client.FCall(background, library.Name+"_push", []string{clock, suspect}, header.Append(nil), push.AppendBody(nil)).Err(); err != nil {
		th.t.Fatal(err)
	}
}

// Who can write to Redis raises counts in the name of a node, or of none: a node that
// sees the client blocks it, never what is protected. A living node alarms about counts
// in its name.
func TestWhoRaisesCounts(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, require)
	th := g.thief()
	living := g.beats()["edge-1"]
	named, unnamed, safe := netip.MustParseAddr("203.0.113.12"), netip.MustParseAddr("203.0.113.13"), netip.MustParseAddr("192.0.2.1")
	th.counts(named, living.ID(), 1000)
	th.counts(safe, living.ID(), 1000)
	th.counts(unnamed, aggregator.NodeID("edge-9", "0123456789abcdef"), 1000)
	sees := g.nodes[1]
	for _, client := range []netip.Addr{named, unnamed, safe} {
		sees.sends(client, guardedLimit/2)
	}
	for _, client := range []netip.Addr{named, unnamed} {
		sees.Until("it blocks "+client.String(), func() bool { return sees.blocks(netip.PrefixFrom(client, 32)) })
	}
	g.nodes[0].Until("the node in whose name it was done alarms", func() bool { return g.nodes[0].alarms()["fleet_forged"] > 0 })
	if sees.sends(safe, 1) != 0 {
		t.Error("a protected address is refused")
	}
}
