package node

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
	"edgeguard/internal/redistest"
)

// crowd has a node see requests: rounds of each of n addresses that begin so.
func (u *underTest) crowd(begin string, n, rounds int) {
	for range rounds {
		for k := range n {
			u.request(fmt.Sprintf("%s%d.%d", begin, k/250, 1+k%250))
		}
	}
}

// blockAt has an operator block a prefix on a node.
func (u *underTest) blockAt(prefix string, force bool) error {
	now := u.view().Now()
	_, err := u.view().Block(edgeguard.Block{
		Prefix: netip.MustParsePrefix(prefix), Rule: "manual", Reason: "a test", Since: now, Until: now.Add(time.Hour),
	}, force)
	return err
}

func (u *underTest) waits(prefix string) bool {
	for _, b := range u.view().Held() {
		if b.Prefix.String() == prefix {
			return true
		}
	}
	return false
}

// A flood that is most of the traffic is refused on both nodes, and nobody has
// to say a word: neither where no node can see it alone, nor where one has
// blocked it before the other, which pushes seldom, has been told of its own
// counts.
func TestFloodNeedsNoWord(t *testing.T) {
	t.Parallel()
	seldom := strings.Replace(fleetOfTwo, "push: 50ms", "push: 2s", 1)
	for name, c := range map[string]struct {
		roundsOfA int
		second    string
	}{"spread": {12, fleetOfTwo}, "first on one": {21, seldom}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := startFleetOf(t, redistest.Start(t, redistest.Options{}), fleetOfTwo, c.second)
			flood(t, a, b, c.roundsOfA)
		})
	}
}

func flood(t *testing.T, a, b *underTest, roundsOfA int) {
	const attackers = 100
	a.crowd("198.18.", 300, 1)
	b.crowd("198.18.", 300, 1)
	b.crowd("203.0.", attackers, 12)
	a.crowd("203.0.", attackers, roundsOfA)
	for _, u := range []*underTest{a, b} {
		for k := range attackers {
			addr := fmt.Sprintf("203.0.0.%d", 1+k)
			u.eventually(addr+" is blocked", func() bool { return u.blocked(addr) })
		}
		u.eventually("nothing waits", func() bool { return len(u.view().Held()) == 0 })
		if u.blocked("198.18.0.7") {
			t.Error("a client is blocked")
		}
		if s := u.quarantine.Stats(); s.Confirmed != 0 || s.Withdrawn != 0 {
			t.Errorf("%+v", s)
		} else {
			t.Logf("%+v", s)
		}
	}
	for k := range attackers {
		addr := fmt.Sprintf("203.0.0.%d", 1+k)
		a.eventually("the copies of "+addr+" agree", func() bool { return sameBlock(a.copyOf(addr), b.copyOf(addr)) })
	}
}

// copyOf is a node's copy of an address's block, with the epoch's times.
func (u *underTest) copyOf(addr string) edgeguard.Block {
	return u.admin.status.Outward(*u.standing(addr))
}

// sameBlock reports whether two copies are of one block. Their times may differ by
// what the nodes' clocks were corrected by since.
func sameBlock(a, b edgeguard.Block) bool {
	const corrected = 100 * time.Millisecond
	apart := max(a.Since.Sub(b.Since).Abs(), a.Until.Sub(b.Until).Abs())
	a.Since, a.Until = b.Since, b.Until
	return a == b && apart < corrected
}

// What waits, was counted here and reported by another node, has the fleet asked for its
// total.
func TestHeldAsksTheFleet(t *testing.T) {
	t.Parallel()
	a, b := startFleet(t, redistest.Start(t, redistest.Options{}))
	const clients = 150
	b.crowd("203.0.", clients, 12) // over half of the limit: it is reported
	a.crowd("203.0.", clients, 8)
	pass(5, a, b)                                                       // what they asked each other for themselves is answered
	asked := a.pipeline.Current().Member.Totals.Stats().WatchesReceived // what the nodes asked each other to watch
	held := 0
	for k := range clients {
		now := a.clock.Now()
		_, err := a.quarantine.Admit(now, a.pipeline.Current().Detector, edgeguard.Block{
			Prefix: netip.MustParsePrefix(fmt.Sprintf("203.0.0.%d/32", 1+k)), Rule: "site", Origin: "edge-z",
			Since: now, Until: now.Add(time.Hour), Version: 1,
		}, blocklist.Trust{})
		if errors.Is(err, aggregator.ErrHeld) {
			held++
		}
	}
	if held == 0 {
		t.Fatal("nothing waits")
	}
	a.eventually("it is asked for", func() bool { return a.pipeline.Current().Member.Totals.Stats().WatchesReceived > asked })
}

// What one node blocks, and what would refuse most of what another lets in,
// waits there until an operator says that it is meant, or takes it back.
func TestHeldInFleet(t *testing.T) {
	t.Parallel()
	a, b := startFleet(t, redistest.Start(t, redistest.Options{}))
	b.crowd("198.18.", 250, 4)
	b.crowd("198.19.", 250, 4)
	for _, prefix := range []string{"198.18.0.0/16", "198.19.0.0/16", "203.0.113.0/24"} {
		if err := a.blockAt(prefix, false); err != nil {
			t.Fatal(err)
		}
	}
	b.eventually("the blocks wait", func() bool { return b.waits("198.18.0.0/16") && b.waits("198.19.0.0/16") })
	b.eventually("what refuses no client is in force", func() bool { return b.blocked("203.0.113.7") })
	if b.blocked("198.18.0.7") || b.waits("203.0.113.0/24") {
		t.Error("the wrong ones wait")
	}
	b.eventually("there is an alarm", func() bool {
		return strings.Contains(b.conditions(), "2 blocks by edge-a would refuse 100 % of the last 5 minutes' requests here and await confirmation")
	})
	syncs := b.fleet().Syncs
	b.Node.fleet.Resync()
	b.eventually("the list was read again", func() bool { return b.fleet().Syncs > syncs })
	if s := b.quarantine.Stats(); s.Held != 2 || s.Total-s.AdmittedLater != 2 || b.fleet().Rejected != 0 || b.fleet().Held != 2 {
		t.Errorf("after a full read: %+v, %+v", s, b.fleet())
	}

	// A restart puts nothing in force.
	b.stop()
	b = newNode(t, b.folder, b.yaml).start()
	b.eventually("it is joined again", func() bool { f := b.fleet(); return f.Up && f.Syncs > 0 })
	if !b.waits("198.18.0.0/16") || !b.waits("198.19.0.0/16") || b.blocked("198.18.0.7") || !b.blocked("203.0.113.7") {
		t.Errorf("after a restart: %+v", b.quarantine.HeldRecords())
	}

	if _, ok, err := b.view().Confirm(netip.MustParsePrefix("198.18.0.0/16")); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if !b.blocked("198.18.0.7") {
		t.Error("what was confirmed is not in force")
	}
	a.eventually("the word has come", func() bool { return a.list.Trust(netip.MustParsePrefix("198.18.0.0/16")).Forced })
	if _, ok := b.view().Unblock(netip.MustParsePrefix("198.19.0.0/16"), "a mistake"); !ok {
		t.Fatal("nothing was taken back")
	}
	a.eventually("it is taken back", func() bool { return !a.blocked("198.19.0.7") })
	b.eventually("the alarm has ended", func() bool { return b.conditions() == "" })
	if len(b.view().Held()) != 0 || b.blocked("198.19.0.7") {
		t.Error("something waits still")
	}
}

// An operator who is about to refuse most requests is asked whether that is
// meant, with a fleet or without.
func TestTooMuchByHand(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), "state: $DIR/state\nlisten: {admin: [\"unix:$DIR/admin.sock\"], auth: [\"unix:$DIR/auth.sock\"]}\nrules: [{name: site, threshold: 10000}]\n").start()
	if err := u.blockAt("198.19.0.0/16", false); err != nil {
		t.Error("a node that has seen nothing asks:", err)
	}
	u.crowd("198.18.", 250, 8)
	var tooMuch *admin.TooMuchError
	if err := u.blockAt("198.18.0.0/16", false); !errors.As(err, &tooMuch) || tooMuch.Share < 0.9 || tooMuch.Limit != 0.2 {
		t.Errorf("most requests: %v", err)
	}
	if err := u.blockAt("198.18.0.7/32", false); err != nil {
		t.Error("one of many:", err)
	}
	if err := u.blockAt("198.18.0.0/16", true); err != nil || !u.blocked("198.18.0.8") {
		t.Error("by force:", err)
	}
	if err := u.blockAt("198.18.0.0/16", false); err != nil {
		t.Error("what is in force already refuses no other client:", err)
	}
}
