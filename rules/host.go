package rules

import "strings"

// hostRoom is the longest host name that is looked at: DNS allows 253 bytes.
const hostRoom = 256

// cutPort cuts the port off a Host header's value: "example.org:8080",
// "[2001:db8::1]:443".
func cutPort(host string) string {
	colon := strings.LastIndexByte(host, ':')
	if colon < 0 || strings.IndexByte(host[colon:], ']') >= 0 {
		return host
	}
	if host[0] != '[' && strings.IndexByte(host[:colon], ':') >= 0 {
		return host // a bare IPv6 address
	}
	return host[:colon]
}

// bareHost cuts off the port, and the dot that ends a name that is written in
// full: "example.org." is "example.org".
func bareHost(host string) string {
	return strings.TrimSuffix(cutPort(host), ".")
}

// plainHost reports whether a host is in normal form already, as nearly
// all are: without port and last dot, and in lower case.
func plainHost(host string) bool {
	for i := 0; i < len(host); i++ {
		if c := host[i]; c == ':' || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return len(host) < hostRoom && (len(host) == 0 || host[len(host)-1] != '.')
}

// normalHost appends a host without its port and last dot, and in lower case;
// of one that is longer than names can be, nothing.
func normalHost(dst []byte, host string) []byte {
	host = bareHost(host)
	if len(host) >= hostRoom {
		return dst
	}
	return appendLower(dst, host)
}

// appendLower appends s with its upper-case ASCII letters made lower.
func appendLower(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}
