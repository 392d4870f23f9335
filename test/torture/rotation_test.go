package torture

import (
	"fmt"
	"net/netip"
	"testing"
)

// Fault 15: who has a /64 has 2^64 addresses, and who has a /56 has 256 of
// those. The first is one key and one block; the second is what a rule with a
// shorter key is for. A thousand neighbours notice nothing.
func TestRotationInsideANetwork(t *testing.T) {
	const limit64, limit56 = 100, 1000
	n := newNode(t, `
node: test
state: $DIR/state
listen: {auth: [{address: "unix:$DIR/auth.sock", emit: request}], admin: ["unix:$DIR/admin.sock"]}
rules:
  - {name: household, threshold: 100, guard: 1, window: 1h}
  - {name: customer, threshold: 1000, guard: 1, window: 1h, key: {address: {v4: 24, v6: 56}}}
`)
	n.start()
	rng := newRand(t)
	ask := n.asker()
	refused := func(network string) bool {
		t.Helper()
		no, err := ask.nginx(fmt.Sprintf("%s:%x:%x:%x:%x", network, rng.Uint32N(1<<16), rng.Uint32N(1<<16), rng.Uint32N(1<<16), rng.Uint32N(1<<16)))
		if err != nil {
			t.Fatal(err)
		}
		return no
	}
	// Every 4 neighbours share a /56: 20 requests of its 1,000.
	neighbours := func() {
		for i := range 1000 {
			if network := fmt.Sprintf("2001:db8:%x:%x", 0x100+i/256, i%256*64); refused(network) {
				t.Fatalf("the neighbour %s::/64 was refused", network)
			}
		}
	}

	neighbours()
	var one passes
	for range size(5000, 1_000_000) {
		one.note(refused("2001:db8:0:aa00"))
	}
	if one.passed != limit64 || one.firstRefused != limit64+1 {
		t.Errorf("addresses of one /64: %d passed, request %d was the first refused; want %d and the next", one.passed, one.firstRefused, limit64)
	}
	neighbours()
	var all passes
	for range size(20, 200) {
		for i := range 256 {
			all.note(refused(fmt.Sprintf("2001:db8:0:%x", 0xbb00+i)))
		}
	}
	if all.passed != limit56 || all.firstRefused != limit56+1 {
		t.Errorf("256 networks of one /56: %d passed, request %d was the first refused; want %d and the next", all.passed, all.firstRefused, limit56)
	}
	neighbours()

	blocks := n.blocks()
	for _, want := range []string{"2001:db8:0:aa00::/64", "2001:db8:0:bb00::/56"} {
		if _, found := blocks[netip.MustParsePrefix(want)]; !found {
			t.Errorf("%s is not blocked", want)
		}
	}
	for p, b := range blocks { // the 256 may have been blocked one by one too, after the /56
		if !netip.MustParsePrefix("2001:db8::/48").Overlaps(p) {
			t.Errorf("%v is blocked by %s", p, b.Rule)
		}
	}
	const theirs = 1000 + 2*250 // the neighbours, and the /56s that they are in, by rule
	if keys := n.status().Tables.Keys; keys > theirs+300 {
		t.Errorf("%d keys, %d of them the neighbours'", keys, theirs)
	}
	t.Logf("%d and %d requests, %d keys, %d blocks", one.asked, all.asked, n.status().Tables.Keys, len(blocks))
}
