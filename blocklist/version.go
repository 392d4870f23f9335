package blocklist

import (
	"math"

	"edgeguard"
)

// How many versions an operator's change is ahead of all that are known of its
// prefix. A node that has not received it, or is cut off from its fleet, goes on
// blocking the prefix, one version a block or extension; the operator's change
// must not lose to these when they arrive. Of changes made at the same time the
// one that lets a client in wins, and an allowance before an unblock: letting
// someone in wrongly is fixed sooner than keeping someone out. A block that a
// rule makes after the change is one version above it.
const (
	aheadBlock = 1 << 16
	aheadLift  = 1 << 20
	aheadAllow = 1 << 24
)

// nextVersion is that of a new record of this node's own. It needs the lock.
func (l *List) nextVersion(b *edgeguard.Block) uint64 {
	known := uint64(0)
	if e := l.recordOf(b.Prefix); e != nil {
		known = e.block.Version
	}
	switch {
	case b.Allow:
		return ahead(known, aheadAllow)
	case b.Rule == edgeguard.ManualRule:
		return ahead(known, aheadBlock)
	}
	return known + 1
}

// ahead returns the version so many above one, or the next where there is no room:
// a version from another node may be any.
func ahead(version, by uint64) uint64 {
	if version >= math.MaxUint64-by {
		by = 1
	}
	return version + by
}
