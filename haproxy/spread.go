package haproxy

import (
	"iter"
	"net/netip"
)

// planEach plans every piece as keys of a table, if they are few.
func (p *planner) planEach(pieces []piece, table int) {
	for _, piece := range pieces {
		n := keysOf(piece.prefix, table)
		if n > mostOfOne || len(p.plan.Entries)+n > mostOfAll {
			p.plan.Left[piece.prefix] = true
			continue
		}
		for k := range keysIn(piece.prefix, table) {
			if piece.until.After(p.plan.Entries[k].Until) {
				p.plan.Entries[k] = BlockEntry{BlockedGPT, piece.until}
			}
		}
	}
}

// keysOf returns how many keys of a table a prefix is.
func keysOf(p netip.Prefix, table int) int {
	longer := tables[table].prefixBits(p.Addr().Is4()) - p.Bits()
	return 1 << min(longer, 30)
}

// keysIn returns the keys of a table in a prefix, of which there are few.
func keysIn(p netip.Prefix, table int) iter.Seq[BlockKey] {
	return func(yield func(BlockKey) bool) {
		keys(p, table, yield)
	}
}

func keys(p netip.Prefix, table int, yield func(BlockKey) bool) bool {
	if p.Bits() == tables[table].prefixBits(p.Addr().Is4()) {
		return yield(BlockKey{table, p.Addr()})
	}
	low, high := halves(p)
	return keys(low, table, yield) && keys(high, table, yield)
}
