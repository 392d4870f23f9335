package pipeline

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/frontdoor"
	"edgeguard/shard"
)

// A key without an address that stays over its limit is told again every five minutes, so that its attack goes on;
// one that only comes near it is not told, and neither is who forges its evidence a member.
func TestCrowdIsToldAgain(t *testing.T) {
	c, err := config.Parse("f", []byte(`rules: [{name: crowd, key: {address: none, with: [path]}, threshold: 20, guard: 1, window: 5m, action: shadow}]`))
	if err != nil {
		t.Fatal(err)
	}
	var told []edgeguard.Crossing
	p := New(Config{Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Boot: benchStart, Crossed: func(c edgeguard.Crossing) { told = append(told, c) }}, c)
	t.Cleanup(p.Close)
	ask := func(now time.Time, path string, n int, verified edgeguard.Kind) {
		for i := range n {
			ev := edgeguard.Event{Time: now, Addr: netip.AddrFrom4([4]byte{8, 8, 8, byte(i)}), Kind: edgeguard.KindRequest, Verified: verified, Known: edgeguard.FieldPath, Path: path}
			p.Batches("log")(now, []edgeguard.Event{ev})
		}
	}
	now := benchStart
	for range 31 {
		ask(now, "/a", 10, edgeguard.KindRequest)
		ask(now, "/b", 3, edgeguard.KindRequest)
		now = now.Add(time.Minute)
	}
	if len(told) != 6 {
		t.Errorf("told %d times in half an hour", len(told))
	}
	for i, x := range told {
		if x.Again != (i > 0) || x.Key.String() != "everybody path=/a" || x.Count <= x.Limit || x.Rule != "crowd" || x.Action != edgeguard.ActionShadow {
			t.Errorf("%d: %+v", i, x)
		}
	}
	ask(now, "/c", 100, 0)
	if _, found := p.Crowd(now, "crowd", "path=/c", now); found {
		t.Error("forged evidence has members")
	}
	if came, found := p.Crowd(now, "crowd", "path=/b", now.Add(-time.Hour)); !found || len(came.Members) != 3 || came.Most != 15 {
		t.Errorf("%+v", came)
	}
}

// A front door and a verified crawler are counted, but are no members: a list of members is one to block.
func TestCrowdSparesWhoIsNoClient(t *testing.T) {
	for _, c := range []struct {
		name, config, addr, crawler string
		members                     int
	}{
		{"a balancer", "", "10.1.1.1", "", 0},
		{"an office", "clients: [10.0.0.0/8]\n", "10.1.1.1", "", 1},
		{"a crawler", "", "8.8.8.8", edgeguard.VerifiedCrawler + "bot", 0},
		{"who says that he is one", "", "8.8.8.8", "impostor", 1},
	} {
		whole, err := config.Parse("f", []byte(c.config+`rules: [{name: crowd, key: {address: none, with: [path]}, threshold: 20, guard: 1, window: 5m, action: shadow}]`))
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		p := New(Config{Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Boot: benchStart, Doors: frontdoor.New(1), Crossed: func(edgeguard.Crossing) { told++ }}, whole)
		t.Cleanup(p.Close)
		for range 30 {
			ev := edgeguard.Event{Time: benchStart, Addr: netip.MustParseAddr(c.addr), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest, Known: edgeguard.FieldPath | edgeguard.FieldCrawler, Path: "/a", Crawler: c.crawler}
			p.Batches("log")(benchStart, []edgeguard.Event{ev})
		}
		came, found := p.Crowd(benchStart, "crowd", "path=/a", benchStart)
		if !found || len(came.Members) != c.members || came.Most != 30 || told != 1 {
			t.Errorf("%s: %d told, %v %+v", c.name, told, found, came)
		}
	}
}
