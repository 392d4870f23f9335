package node

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/internal/redistest"
)

// others asks what the other nodes hold, until all have answered: on a busy machine
// a heartbeat may take longer than the question waits.
func (u *underTest) others() (held admin.FleetHeld) {
	u.t.Helper()
	u.eventually("all other nodes answer", func() bool {
		var err error
		if held, err = u.view().FleetHeld(u.t.Context()); err != nil {
			u.t.Fatal(err)
		}
		for _, n := range held.Nodes {
			if n.State == admin.NodeSilent {
				return false
			}
		}
		return true
	})
	return held
}

// A forced block without a key waits on the one node of three whose requests it would
// refuse. That node says so in its next heartbeat, however soon the operator asks, and
// says no more of it once it is confirmed there.
func TestHeldOnOneOfThree(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	a, b := startFleet(t, server)
	c := newNode(t, shortDir(t), strings.NewReplacer("$NAME", "edge-c", "$REDIS", server.Addr).Replace(fleetOfTwo)).start()
	for _, u := range []*underTest{a, b, c} {
		u.eventually("all three are joined", func() bool { f := u.fleet(); return f.Up && f.Alive == 3 })
	}
	b.crowd("198.18.", 250, 8)
	c.crowd("198.19.", 250, 8)
	none := admin.FleetHeld{Alive: 3, Nodes: []admin.NodeHeld{}}
	if held := a.others(); !reflect.DeepEqual(held, none) {
		t.Errorf("before: %+v", held)
	}
	prefix := netip.MustParsePrefix("198.18.0.0/24")
	if err := a.blockAt(prefix.String(), true); err != nil {
		t.Fatal(err)
	}
	want := admin.FleetHeld{Alive: 3, Nodes: []admin.NodeHeld{{Name: "edge-b", State: admin.NodeHolds, Held: 1, Waits: []netip.Prefix{prefix}}}}
	if held := a.others(); !reflect.DeepEqual(held, want) {
		t.Errorf("after a forced block: %+v", held)
	}
	if !c.blocked("198.18.0.7") || b.blocked("198.18.0.7") {
		t.Errorf("blocked on edge-c %v, on edge-b %v", c.blocked("198.18.0.7"), b.blocked("198.18.0.7"))
	}
	if _, ok, err := b.view().Confirm(prefix); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if held := a.others(); !reflect.DeepEqual(held, none) {
		t.Errorf("after the confirmation: %+v", held)
	}
	b.eventually("the streams of edge-b have both changes", func() bool {
		all := b.admin.view.Recent(t.Context(), 10, []string{admin.EventHeld})
		return len(all) >= 2 && strings.HasSuffix(all[1].Text, ": 1") && strings.HasPrefix(all[0].Text, "no record")
	})
}

// A node that is cut off from Redis says so, and does not wait for heartbeats.
func TestHeldOnCutOff(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	a, _ := startFleet(t, server)
	server.Kill()
	a.eventually("it is cut off", func() bool { return !a.fleet().Up })
	if held, err := a.view().FleetHeld(t.Context()); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("%+v, %v", held, err)
	}
}
