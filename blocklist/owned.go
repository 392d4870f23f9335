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

// LiftOwned is Lift for the block that an owner made on this node. Other blocks stay.
// No node forgets what it counted: see [edgeguard.Block.Forgets].
func (l *List) LiftOwned(prefix netip.Prefix, owner string, now time.Time, reason, origin string) (tombstone edgeguard.Block, ok bool) {
	l.mu.Lock()
	defer l.unlockAndNotify()
	e, ok := l.blocks.Get(prefix)
	if !ok || e.block.Rule != edgeguard.OwnerRule(owner) || e.block.Origin != origin {
		return edgeguard.Block{}, false
	}
	return l.liftEntry(e, true, now, reason, origin, true)
}
