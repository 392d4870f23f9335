package main

import "net/netip"

// prefixText writes a single address bare, as people do.
func prefixText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
