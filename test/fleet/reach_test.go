package fleet

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"edgeguard/admin/client"
)

// reachRules are rules that count on each node alone: different paths, and a day's calls of one.
const reachRules = `
  - {name: scripts, count: {distinct: path}, threshold: 5, guard: 1, window: 5m, block_for: 1h}
  - {name: day, match: {path: /login}, threshold: 5, guard: 1, window: 24h, block_for: 1h, scope: node}`

// A scan from 59 addresses that two of three nodes see, by rules that count on each node
// alone. Such a block is in force on all nodes, and one command on one node lifts all of them
// everywhere: nothing brings one back.
func TestBlocksOfNodeScopeTravel(t *testing.T) {
	g := newGuarded(t)
	g.mode, g.rules = require, reachRules
	g.launch(3, "", (*guardedNode).crowd)
	var scan []netip.Prefix
	for k := range 59 {
		client := netip.AddrFrom4([4]byte{203, 0, 113, byte(k + 1)})
		scan = append(scan, netip.PrefixFrom(client, 32))
		for _, n := range g.nodes[:2] {
			n.scans(client, k%2 == 0)
		}
	}
	g.allList(scan, len(scan))
	command := []string{"blocks", "remove", "--reason", "a test", "--config", g.nodes[0].Path("config.yaml")}
	for _, p := range scan {
		command = append(command, p.String())
	}
	said := (&rotation{guarded: g}).command(command...)
	if n := strings.Count(said, "is no longer blocked"); n != len(scan) {
		t.Errorf("the command names %d prefixes:\n%s", n, said)
	}
	g.allList(scan, 0)
	g.read()
	last := g.nodes[2]
	last.Stop()
	last.Launch()
	last.joined()
	g.read()
	g.allList(scan, 0)
}

// scans has a client ask for six paths, or six times for the login.
func (n *guardedNode) scans(client netip.Addr, paths bool) {
	n.g.t.Helper()
	a := n.open()
	defer a.conn.Close()
	for i := range 6 {
		path := "/login"
		if paths {
			path = fmt.Sprintf("/script-%d.php", i)
		}
		if _, err := a.asks(client.String(), path); err != nil {
			n.g.t.Fatalf("%s: %v", n.name, err)
		}
	}
}

// allList waits until every node has so many of these prefixes in force.
func (g *guarded) allList(prefixes []netip.Prefix, want int) {
	g.t.Helper()
	for _, n := range g.nodes {
		n.Until(fmt.Sprintf("%s has %d of %d blocks", n.name, want, len(prefixes)), func() bool {
			got := 0
			for b, err := range n.admin.Blocks(background, client.Filter{}) {
				if err != nil {
					return false
				}
				for _, p := range prefixes {
					if b.Prefix == p {
						got++
					}
				}
			}
			return got == want
		})
	}
}
