package clientaddr

import (
	"net/netip"
	"strings"
)

// forwardedFor reads the "for" of one element of a Forwarded header, as
//
//	for="[2001:db8::1]:4711";proto=https;by=203.0.113.43
//
// False if there is none, if there are two, or if it names no address ("unknown",
// an obfuscated "_hidden").
func forwardedFor(element string) (netip.Addr, bool) {
	node, found := "", false
	for element != "" {
		var pair string
		if cut := lastOutsideQuotes(element, ';'); cut >= 0 {
			element, pair = element[:cut], element[cut+1:]
		} else {
			element, pair = "", element
		}
		name, value, ok := strings.Cut(trim(pair), "=")
		if !ok || !strings.EqualFold(name, "for") {
			continue
		}
		if found {
			return netip.Addr{}, false
		}
		node, found = value, true
	}
	return parseNode(node)
}

// parseNode reads the value of "for": a node name and perhaps a port, which
// may be hidden ("_p") and is of no use to us. An IPv6 address must be in brackets
// and quotes, and anything with a colon in quotes (RFC 7239 section 6). Many
// proxies forget one or the other; they are understood if the meaning is clear.
func parseNode(value string) (netip.Addr, bool) {
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
		value = value[1 : n-1]
	}
	if colon := strings.LastIndex(value, ":_"); colon > 0 && isHidden(value[colon+1:]) {
		value = value[:colon]
	}
	return ParseAddr(value)
}

// isHidden reads an obfuscated port: "_" and letters, digits, ".", "_", "-".
func isHidden(s string) bool {
	for i := 1; i < len(s); i++ {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return len(s) > 1
}
