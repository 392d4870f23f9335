package hostaddr

import "net/netip"

// Protected is a prefix that must not be blocked, and why: "interface eth0",
// "gateway", "resolver".
type Protected struct {
	Prefix netip.Prefix
	Reason string
}

// single protects one address. ok is false for one that no host can have.
func single(addr netip.Addr, reason string) (_ Protected, ok bool) {
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() || addr.IsUnspecified() {
		return Protected{}, false
	}
	return Protected{netip.PrefixFrom(addr, addr.BitLen()), reason}, true
}
