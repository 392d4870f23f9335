package feed

import (
	"encoding/binary"
	"net/netip"
)

// reach is how much the prefixes of lists cover together: addresses of IPv4, and /64s of
// IPv6, as what is within one is its holder's.
type reach struct{ v4, v6 uint64 }

// The reach of what one prefix of the widest usual length covers, and of all there is.
var (
	widest = reach{1 << (32 - widestV4), 1 << (64 - widestV6)}
	all    = reach{1 << 32, 1 << (64 - 3)} // 2000::/3
)

// reachOf returns what two lists cover together; nil is an empty one.
func reachOf(one, two *List) (sum reach) {
	was, is := restOfFile(one), restOfFile(two)
	a, was := unpack(was)
	b, is := unpack(is)
	var outer netip.Prefix // the last one that was counted
	for a.IsValid() || b.IsValid() {
		p := a
		if !a.IsValid() || b.IsValid() && compare(b, a) < 0 {
			p = b
			b, is = unpack(is)
		} else {
			a, was = unpack(was)
		}
		if !outer.IsValid() || !outer.Contains(p.Addr()) {
			sum.add(p, outer)
			outer = p
		}
	}
	return sum
}

// add adds what a prefix covers. last is the one before it.
func (r *reach) add(p, last netip.Prefix) {
	switch {
	case p.Addr().Is4():
		r.v4 += 1 << (32 - p.Bits())
	case p.Bits() <= 64:
		r.v6 += 1 << (64 - p.Bits())
	case !last.IsValid() || !last.Addr().Is6() || network(last) != network(p):
		r.v6++
	}
}

// network returns the upper half of an IPv6 prefix's address.
func network(p netip.Prefix) uint64 {
	b := p.Addr().As16()
	return binary.BigEndian.Uint64(b[:8])
}

// without returns r less what lies in it.
func (r reach) without(part reach) reach { return reach{r.v4 - part.v4, r.v6 - part.v6} }

// exceedsPart reports whether r is more than a part of all addresses of either family.
func (r reach) exceedsPart(part uint64) bool { return r.v4 > all.v4/part || r.v6 > all.v6/part }
