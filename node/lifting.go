package node

import (
	"net/netip"
	"slices"

	"edgeguard"
	"edgeguard/blocklist"
)

// liftedAtOnce is how many blocks are lifted between two looks at the journal, which must not
// leave out what it cannot write so fast.
const liftedAtOnce = journalLength / 8

// UnblockMany implements [admin.BulkLifter]. What rules counted is forgotten before their blocks
// go, as nothing is counted of what is blocked: after it, a request could come between.
func (o *operator) UnblockMany(blocks []edgeguard.Block, goes func(*edgeguard.Block) bool, reason string, try bool) (lifted []blocklist.Lifted) {
	reason = byHand(reason)
	for some := range slices.Chunk(blocks, liftedAtOnce) {
		now, g := o.clock.Now(), o.pipeline.Current()
		if try {
			lifted = append(lifted, o.wouldLift(some, goes)...)
			continue
		}
		var forgotten []netip.Prefix
		for _, x := range o.wouldLift(some, goes) {
			if x.Left.Lifted && x.Was.Rule != edgeguard.ManualRule && edgeguard.Owner(x.Was.Rule) == "" {
				forgotten = append(forgotten, x.Was.Prefix)
			}
		}
		if len(forgotten) > 0 {
			o.pipeline.Clear(now, forgotten...)
		}
		o.room()
		for i := range some {
			o.listing.Store(some[i].Prefix, nil)
			x, ok := o.list.LiftSame(some[i], goes, now, reason, g.Config.Node)
			o.listing.Delete(some[i].Prefix)
			if ok {
				lifted = append(lifted, x)
			}
		}
	}
	if !try {
		o.list.ForgetReplaced(goes)
	}
	return lifted
}

// wouldLift returns which of the blocks are still the same, each with what it would leave.
func (o *operator) wouldLift(blocks []edgeguard.Block, goes func(*edgeguard.Block) bool) (all []blocklist.Lifted) {
	now := o.clock.Now()
	for i := range blocks {
		if x, ok := o.list.WouldLift(blocks[i], goes, now); ok {
			all = append(all, x)
		}
	}
	return all
}

// PutBack implements [admin.BulkLifter].
func (o *operator) PutBack(x blocklist.Lifted) (b edgeguard.Block, still bool, err error) {
	o.room()
	o.listing.Store(x.Was.Prefix, nil)
	defer o.listing.Delete(x.Was.Prefix)
	b, still, err = o.list.PutBack(x, o.clock.Now(), o.pipeline.Current().Config.Node)
	return o.status.Outward(b), still, err
}
