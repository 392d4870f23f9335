package node

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard"
)

// What a page of attacks costs where a million blocks stand, and 5,000 are of one attack. With
// -benchtime 1x it is the first call, which asks the list what the blocks refused; others do every five seconds.
func BenchmarkAttacks(b *testing.B) {
	u := newNode(b, b.TempDir(), oneLog+"max_blocks: 2000000\n")
	now := u.clock.Now()
	add := func(n uint32, first byte, rule string) {
		one := edgeguard.Block{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{first, byte(n >> 16), byte(n >> 8), byte(n)}), 32), Rule: rule, Origin: "edge-2", Since: now, Until: now.Add(time.Hour), Version: 1}
		if _, err := u.list.Merge(one, now); err != nil {
			b.Fatal(err)
		}
		if rule == "login" {
			u.admin.events.Block(u.admin.status.Now(), u.admin.status.Outward(one), nil, false)
		}
	}
	for i := range uint32(1_000_000) {
		add(i, 20, "manual")
	}
	for i := range uint32(5000) {
		add(i<<8|i&0xff, 8, "login")
	}
	for b.Loop() {
		if all := u.admin.view.Attacks(b.Context(), time.Time{}, time.Time{}); len(all) != 1 || all[0].Blocks != 5000 {
			b.Fatalf("%+v", all)
		}
	}
}
