package detector_test

import (
	"net/netip"
	"slices"
	"testing"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/rules"
)

// Another node's address is counted, and its crossing is an alarm, once: it is neither
// blocked nor denied. Where its heartbeat is not signed, it is as any other.
func TestPeerCrosses(t *testing.T) {
	six := netip.MustParseAddr("2001:db8::7")
	for _, addr := range []netip.Addr{host(someone).Addr(), six} {
		for _, action := range []edgeguard.Action{edgeguard.ActionBlock, edgeguard.ActionDeny, edgeguard.ActionShadow} {
			for _, signed := range []bool{true, false} {
				spec := rules.Spec{Name: "r", Threshold: 10, Guard: "1", Action: action}
				if action != edgeguard.ActionShadow {
					spec.OnFleetLoss = rules.LossClosed
				}
				f := newFleet(t, spec)
				peer := []netip.Prefix{netip.PrefixFrom(addr, addr.BitLen())}
				want, refused := action, 0
				if signed {
					f.list.SetPeers(peer, nil)
					if want != edgeguard.ActionShadow {
						want = edgeguard.ActionAlarm
					}
				} else {
					f.list.SetPeers(nil, peer)
					if action != edgeguard.ActionShadow {
						refused = 3
					}
				}
				got := 0
				for range 13 {
					event := edgeguard.Event{Time: epoch, Addr: addr, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
					if f.Decide(epoch, &event).Action >= edgeguard.ActionDeny {
						got++
					}
				}
				told := f.takeTold()
				if got != refused || !slices.Equal(told, []edgeguard.Action{want}) {
					t.Errorf("%s, %v, signed %v: %d refused, want %d; reported %v, want %v", addr, action, signed, got, refused, told, want)
				}
				e := f.Explain(epoch, addr)
				if e.Rules[0].Count != 13 || (e.Standing == blocklist.Peer) != signed {
					t.Errorf("%s: counted %d, %s", addr, e.Rules[0].Count, e.Standing)
				}
				f.SetFleetLost(true)
				event := edgeguard.Event{Time: epoch, Addr: addr, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
				if v := f.Decide(epoch, &event); v.Action >= edgeguard.ActionDeny != (!signed && action != edgeguard.ActionShadow) {
					t.Errorf("%s, without the fleet: %+v", addr, v)
				}
			}
		}
	}
}

// A batch judges another node's address as one event after the other does.
func TestPeerInABatch(t *testing.T) {
	f := newFleet(t, rules.Spec{Name: "r", Threshold: 10, Guard: "1"})
	f.list.SetPeers([]netip.Prefix{host(someone)}, nil)
	f.send(20, someone, epoch)
	if told := f.takeTold(); !slices.Equal(told, []edgeguard.Action{edgeguard.ActionAlarm}) {
		t.Errorf("%v", told)
	}
	if e := f.Explain(epoch, host(someone).Addr()); e.Rules[0].Count != 20 || f.list.Len() != 0 {
		t.Errorf("counted %d, %d blocks", e.Rules[0].Count, f.list.Len())
	}
}

// A total over the limit alarms about another node's address, and blocks that of a
// claim even where a wider block is in force, which passes it by.
func TestPeerTotal(t *testing.T) {
	f := newFleet(t, rules.Spec{Name: "r", Threshold: 10, Guard: "1"})
	f.list.SetPeers([]netip.Prefix{host(someone)}, nil)
	f.hear(epoch, 11)
	f.hear(epoch, 12)
	if told := f.takeTold(); !slices.Equal(told, []edgeguard.Action{edgeguard.ActionAlarm}) || f.list.Len() != 0 {
		t.Errorf("%v, %d blocks", told, f.list.Len())
	}
	f = newFleet(t, rules.Spec{Name: "r", Threshold: 10, Guard: "1"})
	wide, _ := host(someone).Addr().Prefix(24)
	if _, err := f.list.Merge(edgeguard.Block{Prefix: wide, Rule: "manual", Until: epoch.Add(1 << 40), Version: 1}, epoch); err != nil {
		t.Fatal(err)
	}
	f.list.SetPeers(nil, []netip.Prefix{host(someone)})
	f.hear(epoch, 11)
	if s, b := f.list.Find(epoch, host(someone).Addr()); s != blocklist.Blocked || b.Rule != "r" {
		t.Errorf("%s %+v", s, b)
	}
}
