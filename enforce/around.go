package enforce

import (
	"iter"
	"net/netip"

	"github.com/gaissmai/bart"

	"edgeguard"
)

// Around returns the blocks without what is exempt: a block inside an exempt
// prefix is left out, and of one around it the rest is returned, cut into
// prefixes. Put it between the blocklist and a runner, so that an allowlist
// that came after a block wins over it in the kernel and in files too; and
// call Refresh when the allowlist changes. A block that was cut and is
// lifted is out with the next whole list.
func Around(blocks iter.Seq[edgeguard.Block], exempt []netip.Prefix) iter.Seq[edgeguard.Block] {
	var table bart.Lite
	for _, p := range exempt {
		if p, _ := canonical(p); p.IsValid() { // also 0.0.0.0/0
			table.Insert(p)
		}
	}
	if table.Size() == 0 {
		return blocks
	}
	return func(yield func(edgeguard.Block) bool) {
		for b := range blocks {
			p, ok := canonical(b.Prefix)
			if ok && !cut(&table, p, func(p netip.Prefix) bool { b.Prefix = p; return yield(b) }) {
				return
			}
		}
	}
}

// cut returns the largest prefixes in p that overlap nothing of the table. It
// halves at most as often as an address has bits for each prefix of the table.
func cut(table *bart.Lite, p netip.Prefix, yield func(netip.Prefix) bool) bool {
	switch {
	case table.LookupPrefix(p):
		return true
	case !table.OverlapsPrefix(p):
		return yield(p)
	}
	low, high := halves(p)
	return cut(table, low, yield) && cut(table, high, yield)
}

// halves splits a prefix that is not a single address.
func halves(p netip.Prefix) (low, high netip.Prefix) {
	addr := p.Addr().AsSlice()
	addr[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	upper, _ := netip.AddrFromSlice(addr)
	return netip.PrefixFrom(p.Addr(), p.Bits()+1), netip.PrefixFrom(upper, p.Bits()+1)
}
