package blocklist

import (
	"net/netip"
	"time"

	"github.com/gaissmai/bart"
)

type (
	blockTable = bart.Table[*entry]
	exempts    = bart.Table[Standing]
)

// view is what readers see. filter and index are the same in every view and
// change in place; it and the other tables are never changed once published.
type view struct {
	// filter knows most addresses about which the list has nothing.
	filter *filter
	// index holds the active blocks: no tombstone, but possibly some that have
	// ended.
	index *index
	// exempt is allow, protected, peers and claimed in one, so that readers look up
	// once. nil if all are empty.
	exempt *exempts
	// standing is how many blocks that is.
	standing int
	// allowances holds the active ones made at run time. nil for readers if
	// there are none.
	allowances *blockTable
	// allow, protected, peers (of signed heartbeats) and claimed (of others) serve the
	// writer.
	allow, protected, peers, claimed *bart.Lite
}

// findHit is [List.FindHit] on one state of the list.
func (v *view) findHit(now time.Time, addr netip.Addr) (Standing, *Hit) {
	if !v.filter.mayHold(addr) {
		return None, nil
	}
	if v.allowances != nil && v.allowance(now, netip.PrefixFrom(addr, addr.BitLen())) != nil {
		return Allowed, nil
	}
	standing := None
	if v.exempt != nil {
		if standing, _ = v.exempt.Lookup(addr); standing == Allowed {
			return Allowed, nil
		}
	}
	if e := v.index.findLongest(now, addr, standing.shortestApplying(addr)); e != nil {
		return Blocked, (*Hit)(e)
	}
	if standing == claimed {
		standing = None
	}
	return standing, nil
}

// allowance returns the longest live allowance made at run time that covers all
// of a masked prefix; nil if there is none.
func (v *view) allowance(now time.Time, p netip.Prefix) *entry {
	e, ok := v.allowances.LookupPrefix(p)
	if !ok || e.binds(now, false) {
		return e
	}
	for _, e := range v.allowances.Supernets(p) { // the longest has ended and is not yet swept
		if e.binds(now, false) {
			return e
		}
	}
	return nil
}
