package clientaddr

import (
	"net/netip"
	"strings"
)

// maxAddr is the longest spelling that is looked at: an IPv6 address with a
// dotted end, a zone, brackets and a port.
const maxAddr = 80

// ParseAddr reads an address as proxies write it: bare, with a port
// (192.0.2.1:80, [2001:db8::1]:80), in brackets, with a zone. It comes back
// unmapped and without the zone, so that all spellings of one address are one.
//
// It refuses spellings that mean different addresses to different programs
// (01.2.3.4, 1.2.3, 0x7f000001), and an IPv6 address with a port and no brackets
// where that could be a longer address. It also refuses what is not the address of a host:
// the unspecified and multicast ones.
func ParseAddr(s string) (netip.Addr, bool) {
	if len(s) == 0 || len(s) > maxAddr {
		return netip.Addr{}, false
	}
	host, bracketed := s, s[0] == '['
	if bracketed {
		end := strings.IndexByte(s, ']')
		if end < 0 || end+1 < len(s) && !isPort(s[end+1:]) {
			return netip.Addr{}, false
		}
		host = s[1:end]
	} else if colon := strings.IndexByte(s, ':'); colon > 0 && strings.IndexByte(s[colon+1:], ':') < 0 {
		if !isPort(s[colon:]) {
			return netip.Addr{}, false
		}
		host = s[:colon]
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || bracketed && addr.Is4() || !isZone(addr.Zone()) {
		return netip.Addr{}, false
	}
	addr = plain(addr)
	return addr, !addr.IsUnspecified() && !addr.IsMulticast()
}

// isZone holds a zone to what interfaces are called; netip takes everything.
func isZone(zone string) bool {
	for i := range len(zone) {
		if c := zone[i]; c <= ' ' || c >= 0x7f || c == ',' || c == ';' || c == '"' || c == '[' {
			return false
		}
	}
	return true
}

// isPort reads ":" and a port number.
func isPort(s string) bool {
	if len(s) < 2 || len(s) > 6 || s[0] != ':' {
		return false
	}
	n := 0
	for i := 1; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n <= 65535
}
