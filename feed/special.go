package feed

import (
	"net/netip"
	"slices"
	"strings"
)

// special are the special-purpose ranges of the registries of IANA, and multicast. No
// client on the internet has such an address, but hosts of one's own network do. So does
// 168.63.129.16: it is Azure's on each of its hosts, for health probes and more. All of
// IPv6 outside of 2000::/3 is added by [Special].
var special = parseAll(`
	0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12
	192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24
	192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
	224.0.0.0/4 240.0.0.0/4
	2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20
	168.63.129.16/32`)

// unicast is the part of IPv6 from which addresses on the internet are given out.
var unicast = netip.MustParsePrefix("2000::/3")

func parseAll(texts string) (all []netip.Prefix) {
	for _, text := range strings.Fields(texts) {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// Special reports whether an address is not one of the internet: it is of a
// special-purpose range, multicast, or of no range that is given out. An IPv4 address
// written as IPv6 is special in that form.
func Special(addr netip.Addr) bool {
	return addr.Is6() && !unicast.Contains(addr) ||
		slices.ContainsFunc(special, func(s netip.Prefix) bool { return s.Contains(addr) })
}

// inside reports whether all of a prefix is special, and overlaps whether any of it is.
func inside(p netip.Prefix) bool {
	return p.Addr().Is6() && unicast.Bits() <= p.Bits() && !unicast.Contains(p.Addr()) ||
		slices.ContainsFunc(special, func(s netip.Prefix) bool { return s.Bits() <= p.Bits() && s.Contains(p.Addr()) })
}

func overlaps(p netip.Prefix) bool {
	return inside(p) || slices.ContainsFunc(special, p.Overlaps)
}
