//go:build linux

package lists

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/internal/program"
	"edgeguard/node/alarm"
)

// inside names the variable that is set where the test runs in a network of its own.
const inside = "EDGEGUARD_TEST_NETWORK"

// ownNetwork runs the test again in a network of its own, whose packet filter is nobody
// else's, and reports whether this is there.
func ownNetwork(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		return true
	}
	for _, program := range []string{"unshare", "nft"} {
		if _, err := exec.LookPath(program); err != nil || os.Getuid() != 0 {
			t.Skip("needs root, unshare and nft: install util-linux and nftables")
		}
	}
	if err := exec.Command("unshare", "--net", "true").Run(); err != nil {
		t.Skipf("no network namespace here: %v", err)
	}
	c := exec.Command("unshare", "--net", os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), inside+"=yes")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

func nft(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command("nft", argv...).CombinedOutput()
	if err != nil {
		t.Fatalf("nft %v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// A node keeps the table: a block and its lift arrive, what was learned behind a proxy
// and what is allowed do not. The table stays when the node ends, goes when the config
// no longer has it, and the next of that name that is somebody else's is left alone.
func TestTable(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	c := testConfig(t)
	c.Now = time.Now
	c.Current().Allowlist = prefixes("198.51.100.64/26")
	raised := make(chan string, 100)
	c.Alarms = alarm.New(func(a edgeguard.Alarm) { raised <- a.Text }, func(string, string) {})
	with := &config.Config{}
	with.Enforce.NFTables = &config.NFTables{Table: "edgeguard"}
	add := func(prefix string, proxied bool) {
		t.Helper()
		block := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Since: time.Now(), Until: time.Now().Add(time.Hour), Proxied: proxied}
		if _, _, err := c.List.Add(block, false, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	add("192.0.2.1/32", false)
	add("198.51.100.0/24", false)
	add("203.0.113.1/32", true)
	first := New(c)
	c.List.OnChange(first.Changed)
	first.Load()
	first.Settle(t.Context(), with)
	has := func(set, addr string) func() bool {
		return func() bool {
			return exec.Command("nft", "get", "element", "inet", "edgeguard", set, "{ "+addr+" }").Run() == nil
		}
	}
	program.Eventually(t, "the blocks are in the table", has("blocked4", "192.0.2.1"))
	var figures admin.Stats
	if first.Report(&figures); len(figures.Enforcers) != 1 || figures.Enforcers[0].Packets == nil {
		t.Errorf("no packets in %+v", figures.Enforcers)
	}
	for prefix, want := range map[string]bool{"blocked4_25 198.51.100.128": true, "blocked4_26 198.51.100.0": true, "blocked4_24 198.51.100.0": false, "blocked4 203.0.113.1": false} {
		set, addr, _ := strings.Cut(prefix, " ")
		if got := has(set, addr)(); got != want {
			t.Errorf("%s is there: %t", prefix, got)
		}
	}
	add("203.0.113.2/32", true)
	add("2001:db8::/64", false)
	program.Eventually(t, "a new block is in the table", has("blocked6_64", "2001:db8::"))
	if has("blocked4", "203.0.113.2")() {
		t.Error("a block learned behind a proxy is in the table")
	}
	c.List.Lift(netip.MustParsePrefix("192.0.2.1/32"), time.Now(), "", "")
	program.Eventually(t, "a lifted block is out", func() bool { return !has("blocked4", "192.0.2.1")() })
	first.Stop()
	if !has("blocked6_64", "2001:db8::")() {
		t.Error("a node that ended took its table along")
	}

	second := New(c)
	c.List.OnChange(second.Changed)
	second.Load()
	second.Settle(t.Context(), &config.Config{})
	program.Eventually(t, "the table is deleted", func() bool { return nft(t, "list", "tables") == "" })
	program.Eventually(t, "it is off the record", func() bool {
		owned, err := enforce.LoadOwned(filepath.Join(c.State, enforce.OwnedName))
		return err == nil && len(owned) == 0
	})
	gone := Owned(with)
	if err := Empty(t.Context(), time.Now(), &gone[0]); err != nil {
		t.Errorf("a table that is gone already: %v", err)
	}
	nft(t, "add", "table", "inet", "edgeguard")
	second.Settle(t.Context(), with)
	program.Eventually(t, "the alarm about another's table", func() bool {
		second.Check(time.Now())
		select {
		case text := <-raised:
			return strings.Contains(text, "nft delete table inet edgeguard")
		default:
			return false
		}
	})
	second.Stop()
	owned := Owned(with)
	if err := Empty(context.Background(), time.Now(), &owned[0]); err == nil || nft(t, "list", "tables") == "" {
		t.Errorf("another's table is deleted: %v", err)
	}
}
