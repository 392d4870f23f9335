package node

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/redistest"
)

// However fast a node's own rules block, each block is in force with the request that
// crosses the limit, and in the node's lists soon after. What is paced is what nodes
// send to each other.
func TestOwnBlocksAreNotPaced(t *testing.T) {
	clients := 33_000
	if underRace {
		clients = 3000 // it takes minutes for more, where other tests run beside
	}
	a, _ := startFleetOf(t, redistest.Start(t, redistest.Options{}), ownBlocks, ownBlocks)
	began := time.Now()
	for k := range clients {
		addr := attacker(k)
		first, second := a.requestOf(addr), a.requestOf(addr)
		if first != edgeguard.ActionPass || second != edgeguard.ActionDeny {
			t.Fatalf("%s: %v, then %v", addr, first, second)
		}
	}
	if n := a.list.Len(); n != clients {
		t.Errorf("%d of %d blocks are in force", n, clients)
	}
	took := time.Since(began)
	var listed []string
	a.eventually("the list has all", func() bool {
		text, _ := os.ReadFile(filepath.Join(a.folder, "deny.conf"))
		listed = strings.Fields(string(text))
		return len(listed) == clients
	})
	t.Logf("%.0f blocks a second; in the list %v after the last", float64(clients)/took.Seconds(), (time.Since(began) - took).Round(time.Millisecond))
	slices.Sort(listed)
	for k := range clients {
		if _, in := slices.BinarySearch(listed, attacker(k).String()); !in {
			t.Fatalf("%s is not in the list", attacker(k))
		}
	}
	if s := a.quarantine.Stats(); s.Total+s.NotRecorded != 0 {
		t.Errorf("own blocks waited: %+v", s)
	}
}

const ownBlocks = `
node: $NAME
state: $DIR/state
listen: {auth: ["unix:$DIR/auth.sock"], admin: ["unix:$DIR/admin.sock"]}
enforce: {files: [{file: $DIR/deny.conf, format: plain}]}
memory: 256MiB
rules: [{name: site, threshold: 1, guard: 1, block_for: 1h}]
fleet: {redis: "redis://$REDIS", namespace: test, partitions: 2, push: 100ms, max_nodes: 2}
`

func attacker(k int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("198.18.%d.%d", k>>8, k&0xff))
}

// requestOf decides one request of an address.
func (u *underTest) requestOf(addr netip.Addr) edgeguard.Action {
	now := u.clock.Now()
	event := edgeguard.Event{Time: now, Addr: addr, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
	return u.pipeline.Decide(now, &event).Action
}
