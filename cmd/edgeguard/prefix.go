package main

import "net/netip"

// wider reports whether a prefix has fewer bits than these of its family.
func wider(p netip.Prefix, v4, v6 int) bool {
	if p.Addr().Is4() {
		return p.Bits() < v4
	}
	return p.Bits() < v6
}

// prefixText writes a single address bare, as people do.
func prefixText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
