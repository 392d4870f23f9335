package node

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/redistest"
)

// ban makes a block for an owner, as the API does.
func (u *underTest) ban(addr, owner string) {
	u.t.Helper()
	v := u.view()
	b := edgeguard.Block{Prefix: netip.MustParsePrefix(addr + "/32"), Rule: edgeguard.OwnerRule(owner), Since: v.Now(), Until: v.Now().Add(time.Hour)}
	if _, err := v.Block(b, false); err != nil {
		u.t.Fatal(err)
	}
}

// unban lifts an owner's block, and reports whether there was one.
func (u *underTest) unban(addr, owner string) bool {
	_, ok := u.view().UnblockOwned(netip.MustParsePrefix(addr+"/32"), owner, "unbanned")
	return ok
}

// An owner's block reaches the fleet, and is lifted there by its owner on its node
// alone. What the nodes counted of the address stays, other than after an operator's
// unblock.
func TestFleetOwnedBlock(t *testing.T) {
	t.Parallel()
	config := strings.Replace(fleetOfTwo, "threshold: 20, guard: 1, window: 1m", "threshold: 2000, guard: 1, window: 1h", 1)
	a, b := startFleetOf(t, redistest.Start(t, redistest.Options{}), config, config)
	const addr = "203.0.113.9"
	for range 10 {
		a.request(addr)
		b.request(addr)
	}
	a.ban(addr, "fail2ban")
	b.eventually("it is blocked there", func() bool { return b.blocked(addr) })
	if got := edgeguard.Owner(b.standing(addr).Rule); got != "fail2ban" {
		t.Errorf("its owner there is %q", got)
	}
	if b.unban(addr, "fail2ban") || a.unban(addr, "other") || !a.blocked(addr) {
		t.Error("another node or owner lifted it")
	}
	if !a.unban(addr, "fail2ban") || a.blocked(addr) {
		t.Error("its owner did not lift it")
	}
	b.eventually("it is lifted there", func() bool { return !b.blocked(addr) })
	pass(2, a, b)
	for _, u := range []*underTest{a, b} {
		if n := u.count(addr); n < 10 {
			t.Errorf("%d of 10 requests are still counted", n)
		}
	}
	a.ban(addr, "fail2ban")
	b.eventually("it is blocked there again", func() bool { return b.blocked(addr) })
	if _, ok := a.view().Unblock(netip.MustParsePrefix(addr+"/32"), "by hand"); !ok {
		t.Fatal("an operator did not lift it")
	}
	b.eventually("an operator's unblock forgets the counts", func() bool { return !b.blocked(addr) && b.count(addr) == 0 && a.count(addr) == 0 })
}

// After a restart the block is still its owner's.
func TestOwnedBlockSurvivesARestart(t *testing.T) {
	t.Parallel()
	folder := shortDir(t)
	u := newNode(t, folder, oneLog).start()
	u.ban("203.0.113.9", "fail2ban")
	u.stop()
	u = newNode(t, folder, oneLog).start()
	if !u.blocked("203.0.113.9") || !u.unban("203.0.113.9", "fail2ban") || u.blocked("203.0.113.9") {
		t.Error("its owner cannot lift it after a restart")
	}
}
