package blocklist

import (
	"net/netip"
	"time"

	"github.com/gaissmai/bart"

	"edgeguard"
)

type (
	blockTable = bart.Table[*entry]
	exempts    = bart.Table[Standing]
)

// view is what readers see: it and the tables in it are never changed once
// published.
type view struct {
	// filter knows most addresses of which nothing is known. It is the same in
	// every view.
	filter *filter
	// exempt is allow and protected in one, so that readers look up once. nil
	// if both are empty.
	exempt *exempts
	// blocks holds the standing blocks: no tombstone, so none can hide a
	// shorter block, but possibly some whose time is over.
	blocks *blockTable
	// allow and protected serve the writer.
	allow, protected *bart.Lite
}

// find is [List.Find] on one state of the list.
func (v *view) find(now time.Time, addr netip.Addr) (Standing, *edgeguard.Block) {
	if !v.filter.mayHold(addr) {
		return None, nil
	}
	standing := None
	if v.exempt != nil {
		if standing, _ = v.exempt.Lookup(addr); standing == Allowed {
			return Allowed, nil
		}
	}
	e, ok := v.blocks.Lookup(addr)
	if !ok {
		return standing, nil
	}
	forcedOnly := standing == Protected
	if !e.binds(now, forcedOnly) {
		if e = v.shorter(e, now, addr, forcedOnly); e == nil {
			return standing, nil
		}
	}
	return Blocked, &e.block
}

// shorter looks for a binding block around one that is not. It asks for ever
// shorter prefixes of the address instead of ranging over bart's Supernets,
// whose iterator allocates.
func (v *view) shorter(e *entry, now time.Time, addr netip.Addr, forcedOnly bool) *entry {
	for bits := e.block.Prefix.Bits() - 1; bits >= 0; bits = e.block.Prefix.Bits() - 1 {
		within, err := addr.Prefix(bits)
		if err != nil {
			return nil
		}
		var ok bool
		if e, ok = v.blocks.LookupPrefix(within); !ok {
			return nil
		}
		if e.binds(now, forcedOnly) {
			return e
		}
	}
	return nil
}
