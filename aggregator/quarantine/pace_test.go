package quarantine

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
)

// networkOf returns the n-th /24 of a part of the address space that sends nothing.
func networkOf(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{100, byte(n >> 8), byte(n), 0}), 24)
}

// each admits n records, and returns how many of them wait.
func (g *door) each(n int, make func(i int) (edgeguard.Block, blocklist.Trust)) (waiting int) {
	g.t.Helper()
	for i := range n {
		b, t := make(i)
		switch _, err := g.Admit(g.now, g.d, b, t); {
		case errors.Is(err, aggregator.ErrHeld):
			waiting++
		case err != nil:
			g.t.Fatal(err)
		}
	}
	return waiting
}

// pass moves the clock, with a Sweep each second.
func (g *door) pass(d time.Duration) (unblocked int) { return g.passBy(d, time.Second) }

// passBy moves the clock, with a Sweep each step. Where a hundred thousand records wait a
// Sweep takes 10 ms; six a minute admit more than a minute has room for.
func (g *door) passBy(d, step time.Duration) (unblocked int) {
	for until := g.now.Add(d); g.now.Before(until); {
		g.now = g.now.Add(step)
		unblocked += len(g.Sweep(g.now, g.d))
	}
	return unblocked
}

// What comes in within a minute is bounded in total, whoever is said to have made it.
// The rest goes in as minutes pass, and nothing is dropped.
func TestPaceOfBlocks(t *testing.T) {
	const all = 30_000
	for name, origin := range map[string]func(i int) string{
		"one origin":   func(int) string { return "edge-1" },
		"many origins": func(i int) string { return fmt.Sprintf("edge-%d", i) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newDoor(t)
			waiting := g.each(all, func(i int) (edgeguard.Block, blocklist.Trust) {
				b, trust := signed(g, networkOf(i).String())
				b.Origin = origin(i)
				return b, trust
			})
			if waiting != all-mostBlocks || g.list.Len() != mostBlocks || g.Stats().Held != waiting {
				t.Errorf("%d wait, %d in force", waiting, g.list.Len())
			}
			if w := g.Summary(g.now.Add(time.Second), g.d, time.Second); w.Paced != waiting || w.String() !=
				"10000 records wait for room, since over 20000 blocks, 100 unsigned unblocks and allowances, "+
					"or, before this node has seen a hundred requests, 100 unsigned addresses came within a minute: edgeguard blocks held" {
				t.Errorf("%s", w)
			}
			g.pass(3 * time.Minute)
			if s := g.Stats(); s.Held != 0 || s.AdmittedLater != all-mostBlocks || g.list.Len() != all {
				t.Errorf("after three minutes: %+v, %d in force", s, g.list.Len())
			}
		})
	}
}

// Single keys that no request here comes from go in at any pace. One that sends
// something here waits, and so does a network.
func TestPaceOfSingleKeys(t *testing.T) {
	g := newDoor(t)
	g.asked(18, 1000, 3)
	blockOf := func(prefix netip.Prefix) (edgeguard.Block, blocklist.Trust) { return byRule(g, prefix.String()) }
	g.each(mostBlocks, func(i int) (edgeguard.Block, blocklist.Trust) { return blockOf(networkOf(i)) })
	if n := g.each(50_000, func(i int) (edgeguard.Block, blocklist.Trust) {
		return blockOf(netip.PrefixFrom(netip.AddrFrom4([4]byte{101, byte(i >> 16), byte(i >> 8), byte(i)}), 32))
	}); n != 0 {
		t.Errorf("%d addresses that send nothing here wait", n)
	}
	if n := g.each(1, func(int) (edgeguard.Block, blocklist.Trust) { return blockOf(netip.MustParsePrefix("2001:db8::/64")) }); n != 0 {
		t.Error("an IPv6 key waits")
	}
	for _, prefix := range []netip.Prefix{networkOf(mostBlocks), netip.MustParsePrefix("2001:db8::/63")} {
		if n := g.each(1, func(int) (edgeguard.Block, blocklist.Trust) { return blockOf(prefix) }); n != 1 {
			t.Errorf("%s does not wait", prefix)
		}
	}
	sample := g.d.Sample(g.now)
	for k := range 1000 {
		p := netip.PrefixFrom(client(18, k), 32)
		known := sample.Share(p, func(netip.Addr) bool { return true }) > 0
		if n := g.each(1, func(int) (edgeguard.Block, blocklist.Trust) { return blockOf(p) }); (n == 1) != known {
			t.Fatalf("%s: waits %v, in the sample %v", p, n == 1, known)
		}
	}
}

// Unsigned unblocks and allowances of others are 100 a minute together. Signed ones,
// and what this node's operator does, do not wait and take no room.
func TestPaceOfUnblocks(t *testing.T) {
	const all = 2 * mostOthers
	g := newDoor(t)
	for i := range all {
		if _, _, err := g.list.Add(g.block(networkOf(i).String(), 1), false, g.now); err != nil {
			t.Fatal(err)
		}
	}
	of := func(i int, signed bool) (edgeguard.Block, blocklist.Trust) {
		b := g.block(networkOf(i).String(), 0)
		b.Version = g.list.Version(b.Prefix) + 1<<30
		if i%2 == 0 {
			b = blocklist.Tombstone(b, g.now, "enough", "edge-2")
		} else {
			b.Allow, b.Rule = true, ""
		}
		return b, blocklist.Trust{Signed: signed}
	}
	if n := g.each(all, func(i int) (edgeguard.Block, blocklist.Trust) { return of(i, false) }); n != mostOthers {
		t.Errorf("%d wait", n)
	}
	if n := g.list.Len(); n != all-mostOthers {
		t.Errorf("%d blocks are in force", n)
	}
	unblocked := g.pass(2 * time.Minute)
	if s := g.Stats(); s.Held != 0 || g.list.Len() != 0 || unblocked != mostOthers/2 {
		t.Errorf("after two minutes: %+v, %d blocks in force, %d unblocked", s, g.list.Len(), unblocked)
	}
	if n := g.each(all, func(i int) (edgeguard.Block, blocklist.Trust) { return of(i, true) }); n != 0 {
		t.Errorf("%d signed ones wait", n)
	}
	if n := g.each(mostOthers+1, func(i int) (edgeguard.Block, blocklist.Trust) { return of(2*i, false) }); n != 1 {
		t.Errorf("%d wait after signed ones", n)
	}
}

// What finds no room among the held ones is asked for again, as soon as there is room.
func TestLacking(t *testing.T) {
	g := newDoor(t)
	g.most = 10
	until := g.now.Add(time.Hour)
	blocks := func(n int) int {
		return g.each(n, func(i int) (edgeguard.Block, blocklist.Trust) {
			b, trust := signed(g, networkOf(i).String())
			b.Until = until
			return b, trust
		})
	}
	blocks(mostBlocks + g.most)
	if g.Lacking() {
		t.Error("all that waits is recorded")
	}
	blocks(mostBlocks + g.most + 5)
	if s := g.Stats(); s.Held != g.most || s.NotRecorded != 5 || g.Lacking() {
		t.Errorf("no room yet: %+v", s)
	}
	g.pass(time.Minute)
	if !g.Lacking() || g.Lacking() {
		t.Error("lacking is reported once")
	}
	blocks(mostBlocks + g.most + 5)
	g.pass(time.Minute)
	if n := g.list.Len(); n != mostBlocks+g.most+5 || g.Lacking() {
		t.Errorf("%d in force after another read", n)
	}
}

// However often a record that waits is replaced, its queue stays as long as what waits.
func TestQueueIsBounded(t *testing.T) {
	g := newDoor(t)
	g.most = 100
	for i := range mostOthers {
		_ = g.merge(blocklist.Tombstone(g.block(networkOf(i).String(), 1), g.now, "", "edge-2"), false)
	}
	for version := range uint64(10_000) {
		b := g.block("100.0.255.0/24", 1+version)
		b.Allow = true
		_ = g.merge(b, false)
		if n := len(g.pace.queues[others]); n > 2*g.most {
			t.Fatalf("%d wait in the queue", n)
		}
	}
	g.pass(time.Minute)
	if _, ok := g.list.Allowance(g.now, netip.MustParsePrefix("100.0.255.0/24")); !ok || g.Stats().Held != 0 {
		t.Errorf("%+v", g.Stats())
	}
}
