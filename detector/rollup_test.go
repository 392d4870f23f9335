package detector_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/internal/fulltest"
	"edgeguard/rules"
)

// A /56 is blocked with the 64th of its 256 /64, and only if that is wanted; a /48
// never is. (The rule counts no /56 itself: that would block it at the 17th.)
func TestRollUp(t *testing.T) {
	fulltest.Only(t)
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			b := newBench(t, rules.Spec{Name: "trap", Threshold: 1, Guard: "1", BlockFor: time.Hour, Wide: rules.WideOff})
			b.config.RollUp = on
			b.Detector = detector.New(b.config)
			network := func(i int) string { return fmt.Sprintf("2001:db8:0:%x::1", i) }
			stands := func(prefix string) bool {
				for _, one := range b.list.Around(epoch, netip.MustParsePrefix(prefix)) {
					if one.Prefix == netip.MustParsePrefix(prefix) {
						return true
					}
				}
				return false
			}
			for i := range 63 {
				b.send(2, network(i), epoch)
			}
			if stands("2001:db8::/56") {
				t.Fatal("blocked with 63 of its /64")
			}
			b.send(2, network(63), epoch)
			if stands("2001:db8::/56") != on {
				t.Errorf("with 64 of its /64: %v, want %v", !on, on)
			}
			if s, _ := b.list.Find(epoch, netip.MustParseAddr(network(200))); (s == blocklist.Blocked) != on {
				t.Errorf("a neighbour that did nothing stands as %v", s)
			}
			for i := range 1 << 14 {
				b.send(2, network(i<<2), epoch)
			}
			if stands("2001:db8::/48") {
				t.Error("a /48 is blocked")
			}
		})
	}
}
