package fleet

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgeguard/admin"
)

// What a node of one version saved, a node of the other goes on with: its list, with
// what overrides the protected addresses, and its counts. Redis knows nothing of it.
func TestUpgradeState(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	u := &upgrade{guarded: newGuarded(t), old: programBefore(t)}
	u.install("")
	n := u.newNode("edge-1", noKey, "")
	n.Program = u.old
	u.nodes = []*guardedNode{n}
	n.Launch()
	u.joined()

	insisted := netip.PrefixFrom(protected.Addr().Next(), 32)
	for _, r := range []admin.BlockRequest{
		{Prefix: "203.0.113.1", Reason: "by hand"},
		{Prefix: "2001:db8:1::/48", For: "30d"},
		{Prefix: "198.16.0.0/12", Force: true},
		{Prefix: insisted.String(), Force: true},
		{Prefix: "203.0.113.2", Reason: "a mistake"},
		{Prefix: "203.0.113.4", Reason: "copied\u200e from a page"}, // this version refuses such text
	} {
		if _, err := n.admin.Block(background, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, prefix := range []string{"198.51.0.0/16", "2001:db8:2::/48", "203.0.113.3"} {
		if _, err := n.admin.Allow(background, admin.AllowRequest{Prefix: prefix}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.admin.Unblock(background, "203.0.113.2/32", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := n.admin.Disallow(background, "203.0.113.3/32", ""); err != nil {
		t.Fatal(err)
	}
	over, counted := netip.MustParseAddr("203.0.114.1"), netip.MustParseAddr("203.0.114.2")
	n.sends(over, guardedLimit+1)
	n.sends(counted, guardedLimit-4)
	list := n.records()
	if !slices.ContainsFunc(list, func(line string) bool { return strings.HasPrefix(line, over.String()) }) {
		t.Fatalf("%s is not blocked: %s", over, strings.Join(list, "\n"))
	}

	for _, program := range []string{"", u.old, "", ""} {
		n.Stop()
		if err := u.redis.FlushAll(background).Err(); err != nil {
			t.Fatal(err)
		}
		n.Program = program
		n.Launch()
		u.joined()
		if now := n.records(); !slices.Equal(now, list) {
			t.Errorf("%q has\n%s\nand not\n%s", program, strings.Join(now, "\n"), strings.Join(list, "\n"))
		}
		for _, line := range list {
			prefix, _, _ := strings.Cut(line, " ")
			n.Until(prefix+" is in Redis again", func() bool { return u.redis.HExists(background, blocksKey("blocks"), prefix).Val() })
		}
		if s, err := n.admin.Status(background); err != nil || s.Fleet.Rejected != 0 || s.Fleet.Errors["publish"] != 0 {
			t.Errorf("%q: %+v, %v", program, s.Fleet, err)
		}
		if n.sends(insisted.Addr(), 1) != 1 {
			t.Errorf("%q lets %s pass, which an operator insisted on", program, insisted)
		}
		if n.sends(counted, 1) != 0 {
			t.Errorf("%q refuses %s below its limit", program, counted)
		}
		if times := n.alarms()["state"]; times > 0 {
			t.Errorf("%q raised state %d times", program, times)
		}
	}
	if n.sends(counted, 1) != 1 {
		t.Errorf("the counts of %s are not those of all versions", counted)
	}
}

// The version before sets a state file aside that has what was forced on another node.
// The list comes back from Redis.
func TestUpgradeStateSetAside(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	u := newUpgrade(t, mixed{fresh: 2, mode: noKey})
	if _, err := u.nodes[3].admin.Block(background, admin.BlockRequest{Prefix: "203.0.113.7", Force: true}); err != nil {
		t.Fatal(err)
	}
	u.works("at the start")
	n := u.nodes[2]
	u.restart(u.old, n)
	if times := n.alarms()["state"]; times != 1 {
		t.Errorf("%s raised state %d times", n.name, times)
	}
	if aside, err := filepath.Glob(filepath.Join(n.Path("state"), "*")); err != nil || len(aside) < 2 {
		entries, _ := os.ReadDir(n.Path("state"))
		t.Errorf("the file was not kept: %v, %v", entries, err)
	}
	u.expect = []string{"state"}
	u.works("with the version before")
}
