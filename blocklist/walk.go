package blocklist

import (
	"iter"
	"net/netip"
	"time"

	"edgeguard"
)

// All gives the blocks that are live at now in the order of their prefixes
// ([netip.Prefix.Compare]: IPv4 first), as they were when the iteration began:
// it holds no lock, and changes made meanwhile are not seen. Blocks that the
// allowlist or the protected prefixes overrule are among them.
func (l *List) All(now time.Time) iter.Seq[edgeguard.Block] {
	return l.AllFrom(now, netip.Prefix{})
}

// AllFrom is All from a prefix on, which need not be blocked, and which is put
// right as in New; the zero one is before all. What comes before it costs
// nothing, so that pages of a long list can be asked for one by one.
func (l *List) AllFrom(now time.Time, from netip.Prefix) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		v := l.view.Load()
		if v == nil {
			return
		}
		for e := range v.from(from) {
			if e.binds(now, false) && !yield(e.block) {
				return
			}
		}
	}
}

// Around gives the blocks live at now that cover all of prefix, its own
// included, the longest first. Of those the first is what Find goes by, if
// neither the allowlist nor the protected prefixes overrule it.
func (l *List) Around(now time.Time, prefix netip.Prefix) []edgeguard.Block {
	v := l.view.Load()
	prefix, ok := clean(prefix)
	if v == nil || !ok {
		return nil
	}
	var found []edgeguard.Block
	for _, e := range v.blocks.Supernets(prefix) {
		if e.binds(now, false) {
			found = append(found, e.block)
		}
	}
	return found
}

// from gives the entries of p and after it in order: what lies in p, then what
// lies in each network that begins where one around p has its upper half. No
// shorter prefix begins there, so nothing is left out.
func (v *view) from(p netip.Prefix) iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		p, ok := clean(p)
		if !ok {
			p = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		}
		if !v.inside(p, yield) {
			return
		}
		for length := p.Bits(); length > 0; length-- {
			if next, ok := upperHalf(p.Addr(), length); ok && !v.inside(next, yield) {
				return
			}
		}
		if p.Addr().Is4() {
			v.inside(netip.PrefixFrom(netip.IPv6Unspecified(), 0), yield)
		}
	}
}

// inside gives the entries in p in order, and reports whether more are wanted.
func (v *view) inside(p netip.Prefix, yield func(*entry) bool) bool {
	for _, e := range v.blocks.Subnets(p) {
		if !yield(e) {
			return false
		}
	}
	return true
}

// upperHalf gives the network of this length next to the address's own, if that
// is the lower half of the two.
func upperHalf(addr netip.Addr, length int) (_ netip.Prefix, ok bool) {
	b, bit := addr.AsSlice(), byte(0x80>>((length-1)%8))
	if b[(length-1)/8]&bit != 0 {
		return netip.Prefix{}, false
	}
	b[(length-1)/8] |= bit
	upper, _ := netip.AddrFromSlice(b)
	return netip.PrefixFrom(upper, length).Masked(), true
}
