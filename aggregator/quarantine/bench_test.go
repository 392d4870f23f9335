package quarantine

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// newBusy returns a door at which a crowd has asked, so that there is a whole sample.
func newBusy(b *testing.B, most int) *door {
	set, _ := rules.Compile([]rules.Spec{{Name: "site", Threshold: 60000, Guard: "1"}})
	list := blocklist.New(blocklist.Config{})
	g := &door{Quarantine: New(list, nil), list: list, now: time.Unix(1_800_000_000, 0)}
	g.SetMost(most)
	g.d = detector.New(detector.Config{Rules: set, Memory: shard.NewMemory(256 << 20), List: list, Seed: 1})
	for range 60 {
		for k := range 10_000 {
			addr := netip.AddrFrom4([4]byte{198, 18, byte(k >> 8), byte(k)})
			g.d.Decide(g.now, &edgeguard.Event{Time: g.now, Addr: addr, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest})
		}
		g.now = g.now.Add(5 * time.Second)
	}
	return g
}

func single101(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{101, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
}

// BenchmarkAdmit is a signed record of a key that comes into a list of 100,000: by the
// quarantine, with its ledger and budget, and beside it into the list alone.
func BenchmarkAdmit(b *testing.B) {
	const before = 100_000
	of := func(g *door, i int) edgeguard.Block {
		return edgeguard.Block{Prefix: single101(i), Rule: "site", Origin: "edge-2", Since: g.now, Until: g.now.Add(time.Hour), Version: 1}
	}
	for name, add := range map[string]func(g *door, i int) error{
		"quarantine": func(g *door, i int) error {
			_, err := g.Admit(g.now, g.d, of(g, i), blocklist.Trust{Signed: true})
			return err
		},
		"list": func(g *door, i int) error {
			_, err := g.list.Agree(of(g, i), blocklist.Trust{Signed: true}, g.now)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			g := newBusy(b, 1<<20)
			for i := range before {
				if err := add(g, i); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			for i := range b.N {
				if err := add(g, before+i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHeld is what as many records as may wait unsigned cost each second, on a node with
// a whole sample: a Sweep, what the heartbeat names, what the alarm says, and the ledger's
// count. Beside it fewer, and none.
func BenchmarkHeld(b *testing.B) {
	for _, held := range []int{0, 1000, mostHeld - mostHeld/4} {
		g := newBusy(b, 1<<20)
		for i := range held {
			block := edgeguard.Block{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(1 + i>>12), byte(i >> 4), byte(i << 4)}), 20), Rule: "site", Since: g.now, Until: g.now.Add(time.Hour), Version: 1}
			_, _ = g.Admit(g.now, g.d, block, blocklist.Trust{})
		}
		for name, do := range map[string]func(){
			"sweep":   func() { g.Sweep(g.now, g.d) },
			"waits":   func() { g.Waits(8) },
			"summary": func() { g.Summary(g.now, g.d, 0) },
			"ledger":  func() { g.Sources() },
		} {
			b.Run(fmt.Sprintf("%s of %d", name, g.Stats().Held), func(b *testing.B) {
				for range b.N {
					do()
				}
			})
		}
	}
}
