package node

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
	"edgeguard/blocklist"
	"edgeguard/internal/redistest"
)

// allow makes an allowance by hand; for ever if lasts is 0.
func (u *underTest) allow(prefix string, lasts time.Duration) {
	u.t.Helper()
	v := u.view()
	b := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "manual", Reason: "office", Since: v.Now(), Until: edgeguard.Forever}
	if lasts > 0 {
		b.Until = b.Since.Add(lasts)
	}
	if made, err := v.Allow(b, false); err != nil || made.Origin != u.pipeline.Current().Config.Node {
		u.t.Fatalf("%+v, %v", made, err)
	}
}

func (u *underTest) disallow(prefix string) {
	u.t.Helper()
	if _, ok := u.view().Disallow(netip.MustParsePrefix(prefix), "moved out"); !ok {
		u.t.Fatalf("%s is not allowed", prefix)
	}
}

// blockHere makes a block on this node as its rules do, for an hour.
func (u *underTest) blockHere(prefix string) error {
	now := u.clock.Now()
	_, _, err := u.list.Add(edgeguard.Block{
		Prefix: netip.MustParsePrefix(prefix), Rule: "site", Origin: u.pipeline.Current().Config.Node, Since: now, Until: now.Add(time.Hour),
	}, false, now)
	return err
}

func (u *underTest) allows(addr string) bool {
	standing, _ := u.list.Find(u.clock.Now(), netip.MustParseAddr(addr))
	return standing == blocklist.Allowed
}

// Allowed on one node, an address is blocked on no other, whatever it does there
// and whatever stood against it; taken back, it is as any other again.
func TestFleetAllowance(t *testing.T) {
	t.Parallel()
	a, b := startFleet(t, redistest.Start(t, redistest.Options{}))
	const addr, slept = "203.0.113.9", "203.0.113.77"
	if err := b.blockHere("203.0.113.0/24"); err != nil {
		t.Fatal(err)
	}
	if err := b.blockHere(slept + "/32"); err != nil {
		t.Fatal(err)
	}
	// Nobody signed the network, and this node has seen no requests to weigh it by.
	a.eventually("the network waits", func() bool {
		_, held, err := a.quarantine.Confirm(a.clock.Now(), netip.MustParsePrefix("203.0.113.0/24"))
		return held && err == nil
	})
	a.eventually("the blocks are there", func() bool { return a.blocked(addr) && a.list.Len() == 2 })
	a.allow("203.0.113.0/24", 0)
	b.eventually("it is allowed on the other node", func() bool { return b.allows(addr) && b.allows(slept) })
	for range 40 {
		if v := b.request(addr); v.Action != edgeguard.ActionPass {
			t.Fatalf("denied: %+v", v)
		}
	}
	e := b.view().Explain(b.view().Now(), netip.MustParseAddr(addr))
	if e.Standing != "allowed" || e.Because != "allowance of 203.0.113.0/24, made on edge-a: office" {
		t.Errorf("explained as %s: %s", e.Standing, e.Because)
	}
	if err := b.blockHere(addr + "/32"); err == nil {
		t.Error("a rule blocks what is allowed")
	}
	b.disallow("203.0.113.0/24")
	for _, u := range []*underTest{a, b} {
		u.eventually("what slept is in force again", func() bool { return u.blocked(slept) })
		if standing, _ := u.list.Find(u.clock.Now(), netip.MustParseAddr(addr)); standing != blocklist.None {
			t.Errorf("the block that the allowance ended: %s", standing)
		}
		if n := u.fleet().Rejected; n != 0 {
			t.Errorf("%d records were refused", n)
		}
	}
	a.eventually("the taking back is logged", func() bool {
		return strings.Contains(a.log.String(), `msg="allowance taken back" prefix=203.0.113.0/24 reason="moved out" origin=edge-b`)
	})
	if text := a.log.String(); !strings.Contains(text, "msg=allowed prefix=203.0.113.0/24 reason=office until=2262-01-01T00:00:00Z origin=edge-a") {
		t.Error(text)
	}
	for range 21 {
		a.request(addr)
	}
	if !a.blocked(addr) {
		t.Error("nobody counts it any more")
	}
}

// An allowance made while Redis is away is in force immediately where it was made, and
// wins when the nodes meet over what a rule did elsewhere meanwhile, however
// often. It outlives its node's restart.
func TestFleetAllowanceWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{AOF: true})
	a, b := startFleet(t, server)
	const addr = "203.0.113.9"
	server.Kill()
	for _, u := range []*underTest{a, b} {
		u.eventually("it is alone", func() bool { return !u.fleet().Up })
	}
	a.allow(addr+"/32", 24*time.Hour)
	for range 5 {
		if err := b.blockHere(addr + "/32"); err != nil {
			t.Fatal(err)
		}
	}
	if !a.allows(addr) || !b.blocked(addr) {
		t.Fatal("the lists are not as they should be while the nodes are alone")
	}
	a.stop()
	a = newNode(t, a.folder, a.yaml).start()
	if !a.allows(addr) {
		t.Error("lost by a restart")
	}
	server.Restart()
	for _, u := range []*underTest{a, b} {
		u.eventually("it is allowed", func() bool { return u.fleet().Up && u.allows(addr) })
	}
}

// One record in Redis opens the fleet to nobody: one that is wider than may
// travel is refused, as is a wide one that no operator insisted on.
func TestFleetForgedAllowance(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	a, b := startFleet(t, server)
	now := time.Now()
	args := []any{now.UnixMilli()}
	for prefix, forced := range map[string]bool{"0.0.0.0/0": true, "2000::/3": true, "203.0.0.0/15": false} {
		p := netip.MustParsePrefix(prefix).Masked()
		r := aggregator.Record{Forced: forced, Block: edgeguard.Block{
			Prefix: p, Rule: "manual", Allow: true, Version: 1 << 40, Since: now, Until: edgeguard.Forever,
		}}
		record, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, p.String(), record, "")
	}
	var keys []string
	for _, name := range []string{"blocks", "ends", "stream", "state", "macs"} {
		keys = append(keys, "eg:{test/b}:"+name)
	}
	if n, err := server.Client().FCall(t.Context(), redis.LibraryName+"_publish", keys, args...).Int64Slice(); err != nil || len(n) != 3 {
		t.Fatal(n, err)
	}
	for _, u := range []*underTest{a, b} {
		u.eventually("they are refused", func() bool { return u.fleet().Rejected >= 3 })
		u.eventually("the alarm", func() bool { return strings.Contains(u.log.String(), "alarm=fleet_rejected") })
		for _, addr := range []string{"203.0.113.9", "198.51.100.9", "2001:db8::1"} {
			if u.allows(addr) {
				t.Errorf("%s is allowed by a stranger", addr)
			}
		}
	}
}

// A wide allowance that an operator insisted on goes to the other nodes and waits
// there: without a key it is not signed. Its taking back needs no confirmation. One that is too wide to travel holds on its node, and no
// other hears of it.
func TestFleetWideAllowances(t *testing.T) {
	t.Parallel()
	a, b := startFleet(t, redistest.Start(t, redistest.Options{}))
	force := func(prefix string) {
		t.Helper()
		v := a.view()
		wide := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "manual", Since: v.Now(), Until: edgeguard.Forever}
		if _, err := v.Allow(wide, true); err != nil {
			t.Fatal(err)
		}
	}
	force("192.0.0.0/8")
	b.eventually("the wide one waits", func() bool { return b.quarantine.Stats().Held == 1 })
	if b.allows("192.0.2.9") {
		t.Error("a wide allowance is in force before it is confirmed")
	}
	if _, ok, err := b.view().Confirm(netip.MustParsePrefix("192.0.0.0/8")); !ok || err != nil {
		t.Fatal(ok, err)
	}
	b.eventually("the wide one is in force", func() bool { return b.allows("192.0.2.9") })
	confirmed := b.list.Version(netip.MustParsePrefix("192.0.0.0/8"))
	a.eventually("the confirmed record came back", func() bool { return a.list.Version(netip.MustParsePrefix("192.0.0.0/8")) == confirmed })
	if n := a.quarantine.Stats().Total; n != 0 {
		t.Errorf("%d records were held where the allowance was made", n)
	}
	a.disallow("192.0.0.0/8")
	b.eventually("it is taken back", func() bool { return !b.allows("192.0.2.9") })
	force("0.0.0.0/0")
	a.allow("203.0.113.0/24", 0) // behind it in the queue
	b.eventually("the other one came", func() bool { return b.allows("203.0.113.9") })
	syncs := a.fleet().Syncs
	a.Node.fleet.Resync()
	a.eventually("the list was offered", func() bool { return a.fleet().Syncs > syncs })
	if !a.allows("198.51.100.9") || b.allows("198.51.100.9") || b.fleet().Rejected != 0 {
		t.Errorf("here %v, there %v, refused there: %d", a.allows("198.51.100.9"), b.allows("198.51.100.9"), b.fleet().Rejected)
	}
}

// The lists of enforcers spare who is allowed, from the moment on, and have the
// others again when the allowance is taken back or over. A reload leaves it.
func TestAllowanceAndEnforcers(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), small).start()
	list := func(want string) {
		t.Helper()
		u.eventually("the enforcer has "+strconv.Quote(want), func() bool { return read(t, u.folder, "deny.conf") == want })
	}
	for _, p := range []string{"198.51.100.0/31", "203.0.113.9/32"} {
		if err := u.blockHere(p); err != nil {
			t.Fatal(err)
		}
	}
	const all = "198.51.100.0/31\n203.0.113.9\n"
	list(all)
	u.allow("198.51.100.1/32", 0)
	u.allow("203.0.113.0/24", 0)
	list("198.51.100.0\n")
	if err := u.Reload(); err != nil {
		t.Fatal(err)
	}
	if !u.allows("203.0.113.9") {
		t.Error("a reload took the allowance back")
	}
	u.disallow("203.0.113.0/24")
	u.disallow("198.51.100.1/32")
	list(all)
	for lasts, seen := time.Second, false; !seen; lasts *= 2 { // longer, if the enforcer was too slow to see it
		u.allow("203.0.113.0/24", lasts)
		u.eventually("the enforcer spares it, or it is over", func() bool {
			seen = read(t, u.folder, "deny.conf") == "198.51.100.0/31\n"
			return seen || !u.allows("203.0.113.9")
		})
	}
	list(all)
	u.eventually("the end is logged", func() bool { return strings.Contains(u.log.String(), `msg="allowance over" prefix=203.0.113.0/24`) })
}
