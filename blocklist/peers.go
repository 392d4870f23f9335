package blocklist

import (
	"math"
	"net/netip"
	"slices"

	"edgeguard"
)

// claimed is the standing, inside a list only, of an address that another node says
// is its own without having signed it. Readers are told None.
const claimed = Peer + 1

// SetPeers replaces the addresses of other nodes, with the same answer as SetAllow.
// signed are those of signed heartbeats: no block applies to them but one that was
// forced on this node. unsigned are those of the others, which anybody who writes to
// Redis can claim. They are only spared from blocks that are wider than an IPv4
// address or an IPv6 /64, as a shared network's neighbour is; a block of their own
// applies. The addresses of both are counted: nobody becomes invisible by claiming to
// be a node.
func (l *List) SetPeers(signed, unsigned []netip.Prefix) (overruled []edgeguard.Block) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current.peers, l.current.claimed = liteTable(signed), liteTable(unsigned)
	l.exempted()
	return l.overlapping(slices.Concat(signed, unsigned))
}

// Peers returns what SetPeers has set, in the order of the addresses.
func (l *List) Peers() (signed, unsigned []netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(l.current.peers.AllSorted()), slices.Collect(l.current.claimed.AllSorted())
}

// IsKey reports whether a prefix is an IPv4 address, or an IPv6 /64 or narrower: what a
// rule blocks unless its key says otherwise.
func IsKey(p netip.Prefix) bool {
	if p.Addr().Is4() {
		return p.IsSingleIP()
	}
	return p.Bits() >= 64
}

// shortestApplying returns the shortest block that applies to an address of this standing
// without having been forced here, as the index counts lengths.
func (s Standing) shortestApplying(addr netip.Addr) uint8 {
	switch {
	case s == Protected, s == Peer:
		return math.MaxUint8
	case s != claimed:
		return 0
	case addr.Is4():
		return mapped + 32
	}
	return 64
}
