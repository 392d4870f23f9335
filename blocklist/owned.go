package blocklist

import (
	"net/netip"
	"time"

	"edgeguard"
)

// AddOwned is Add for another program than this: b's Rule is an owner's. The block is
// bounded as a rule's is, and never forced. Where an operator's block of the prefix is
// in force, or one that ends no sooner, that one stays. AddOwned returns the block in
// force, and whether it changed the list.
func (l *List) AddOwned(b edgeguard.Block, now time.Time) (_ edgeguard.Block, changed bool, err error) {
	return l.addUnless(&entry{block: normalize(b)}, now, func(old *entry) bool {
		return old.byHand() || !old.block.Until.Before(b.Until)
	})
}

// LiftOwned is LiftSame for the block that an owner made on this node. Other blocks stay, and one
// that the owner's had replaced is in force again: it is what is returned then, and else the
// tombstone.
func (l *List) LiftOwned(prefix netip.Prefix, owner string, now time.Time, reason, origin string) (left edgeguard.Block, ok bool) {
	b := l.BlockOf(now, prefix)
	if b == nil || b.Rule != edgeguard.OwnerRule(owner) || b.Origin != origin {
		return edgeguard.Block{}, false
	}
	x, ok := l.LiftSame(*b, func(*edgeguard.Block) bool { return false }, now, reason, origin)
	return x.Left, ok
}
