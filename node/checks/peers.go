package checks

import (
	"fmt"
	"maps"
	"net/netip"
	"time"

	"edgeguard/blocklist"
	"edgeguard/node/alarm"
)

const (
	// MostOwn bounds the addresses that a node reports as its own, and those that are
	// accepted of one: a heartbeat holds a kilobyte.
	MostOwn = 16
	// mostPeers bounds the addresses of all nodes: those of a thousand.
	mostPeers = 1000 * MostOwn
)

// Peers are the addresses that the other nodes say are their own, with the nodes'
// names: those of signed heartbeats, and the others, which anybody who writes to Redis
// can claim.
type Peers struct{ signed, unsigned map[netip.Addr]string }

// NewPeers returns no addresses.
func NewPeers() *Peers { return &Peers{map[netip.Addr]string{}, map[netip.Addr]string{}} }

// Add adds the addresses that a node's heartbeat reports, up to MostOwn.
func (p *Peers) Add(node string, own []netip.Addr, signed bool) {
	addrs := p.unsigned
	if signed {
		addrs = p.signed
	}
	for _, addr := range own[:min(len(own), MostOwn)] {
		if addr = addr.Unmap().WithZone(""); addr.IsGlobalUnicast() && len(addrs) < mostPeers {
			addrs[addr] = node
		}
	}
}

// Equal reports whether two sets have the same addresses of the same nodes. nil has
// none.
func (p *Peers) Equal(other *Peers) bool {
	return p != nil && maps.Equal(p.signed, other.signed) && maps.Equal(p.unsigned, other.unsigned)
}

// Prefixes returns the addresses for [blocklist.List.SetPeers].
func (p *Peers) Prefixes() (signed, unsigned []netip.Prefix) {
	return prefixesOf(p.signed), prefixesOf(p.unsigned)
}

func prefixesOf(addrs map[netip.Addr]string) (all []netip.Prefix) {
	for addr := range addrs {
		all = append(all, netip.PrefixFrom(addr, addr.BitLen()))
	}
	return all
}

// Why returns whose address this is; empty for an address of no node, and for nil.
func (p *Peers) Why(addr netip.Addr) string {
	if p == nil {
		return ""
	}
	if node, ok := p.signed[addr]; ok {
		return "own address of node " + node + ": counted, never blocked"
	}
	if node, ok := p.unsigned[addr]; ok {
		return "own address of node " + node + ", by an unsigned heartbeat: counted, and blocked by itself only"
	}
	return ""
}

// Claims raises the alarm about an address that is blocked and that another node says is
// its own: the node is cut off, or somebody else claims the address to be spared from
// wider blocks.
type Claims struct {
	List   *blocklist.List
	Alarms *alarm.Tracker
	Peers  func() *Peers
}

// Check raises the alarm, or ends it.
func (c *Claims) Check(now time.Time) {
	peers, blocked := c.Peers(), 0
	var first netip.Addr
	if peers != nil {
		for addr := range peers.unsigned {
			if standing, _ := c.List.Find(now, addr); standing != blocklist.Blocked {
				continue
			}
			if blocked++; blocked == 1 || addr.Less(first) {
				first = addr
			}
		}
	}
	if blocked == 0 {
		c.Alarms.Ends(alarm.Claimed, "")
		return
	}
	more := ""
	if blocked > 1 {
		more = fmt.Sprintf(" and %d more", blocked-1)
	}
	c.Alarms.Begins(now, alarm.Claimed, "", fmt.Sprintf("%s%s, which node %s says is its own address, is blocked here: edgeguard explain %s. "+
		"If it is the node's, unblock and allow it; if not, somebody writes heartbeats into Redis", first, more, peers.unsigned[first], first))
}
