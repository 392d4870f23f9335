package clientaddr

import (
	"fmt"
	"net/netip"
	"slices"
)

// Trust is the set of peers whose headers are believed. It is safe for
// concurrent use; the zero value trusts no proxy.
type Trust struct {
	// prefixes are sorted by their first address and disjoint, so that one
	// binary search answers: a content network publishes hundreds.
	prefixes []netip.Prefix
	unix     bool
}

// Loopback returns the prefixes that mean "this host".
func Loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// NewTrust makes the set. unix says whether a peer without an address (a unix
// socket, whose file permissions say who may ask) is trusted. A prefix of
// length 0 is refused: where every host is a proxy, the client is what the
// client says.
func NewTrust(prefixes []netip.Prefix, unix bool) (*Trust, error) {
	clean := make([]netip.Prefix, 0, len(prefixes))
	for _, p := range prefixes {
		bits := p.Bits()
		if p.Addr().Is4In6() {
			bits -= 96
		}
		if !p.IsValid() || bits < 0 {
			return nil, fmt.Errorf("trusted proxies: invalid prefix %v: use one such as 192.0.2.0/24", p)
		}
		if bits == 0 {
			return nil, fmt.Errorf("trusted proxies: %v trusts every client, which could then choose its address: name the proxies only", p)
		}
		clean = append(clean, netip.PrefixFrom(p.Addr().Unmap().WithZone(""), bits).Masked())
	}
	slices.SortFunc(clean, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	// Two prefixes are disjoint or one holds the other, and then the wider one
	// comes first.
	t := &Trust{unix: unix}
	for _, p := range clean {
		if n := len(t.prefixes); n == 0 || !t.prefixes[n-1].Contains(p.Addr()) {
			t.prefixes = append(t.prefixes, p)
		}
	}
	return t, nil
}

// Has reports whether peer is trusted. The zero Addr means the peer of a
// unix socket; any other must be unmapped and without a zone.
func (t *Trust) Has(peer netip.Addr) bool {
	if !peer.IsValid() {
		return t.unix
	}
	i, found := slices.BinarySearchFunc(t.prefixes, peer, func(p netip.Prefix, a netip.Addr) int { return p.Addr().Compare(a) })
	if found {
		return true
	}
	return i > 0 && t.prefixes[i-1].Contains(peer)
}
