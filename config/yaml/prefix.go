package yaml

import (
	"fmt"
	"net/netip"
	"strings"
)

// prefixForms is the fix for what is no prefix.
const prefixForms = "use 192.0.2.0/24, 192.0.2.1 or 2001:db8::/32, without leading zeros"

// ParsePrefix reads "192.0.2.0/24" or "192.0.2.1". What could be read in two ways is
// refused: octets with a leading zero, bits beyond the prefix length, IPv4 mapped into
// IPv6. wrong is empty if nothing is, and fix says what to do about it.
func ParsePrefix(text string) (p netip.Prefix, wrong, fix string) {
	p, err := netip.ParsePrefix(text)
	if !strings.Contains(text, "/") {
		var addr netip.Addr
		addr, err = netip.ParseAddr(text)
		if addr.Zone() != "" {
			return p, fmt.Sprintf("%.60q has an IPv6 zone", text), "remove the zone"
		}
		p = netip.PrefixFrom(addr, addr.BitLen())
	}
	switch {
	case err != nil:
		return p, fmt.Sprintf("invalid prefix %.60q", text), prefixForms
	case p.Addr().Is4In6():
		return p, fmt.Sprintf("%q is an IPv4 address written as IPv6", text), "use " + p.Addr().Unmap().String()
	case p != p.Masked():
		return p, fmt.Sprintf("%q has host bits set", text), fmt.Sprintf("use %v or %v", p.Masked(), p.Addr())
	}
	return p, "", ""
}
