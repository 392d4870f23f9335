package crawlers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

const (
	// MaxFile is the largest range file that is read, in bytes.
	MaxFile = 4 << 20
	// mostPrefixes is how many prefixes one may have. Those of crawlers have some
	// hundreds.
	mostPrefixes = 20_000
	// widestV4 and widestV6 are the widest prefixes of a crawler. Lists of a whole
	// network or cloud have wider ones.
	widestV4, widestV6 = 16, 32
)

// Ranges are the addresses of a crawler. It does not change once it is made.
type Ranges struct {
	spans    []span // ascending, apart
	prefixes int
}

// span is the addresses from low to high, of one family.
type span struct{ low, high netip.Addr }

// rangeFile is the form in which Google, Bing, Apple, DuckDuckGo and OpenAI publish.
type rangeFile struct {
	Prefixes []struct {
		V4      string `json:"ipv4Prefix"`
		V6      string `json:"ipv6Prefix"`
		Service string `json:"service"`
		Scope   string `json:"scope"`
	} `json:"prefixes"`
}

// ParseRanges reads a range file, or says what is wrong with it. A list of a whole
// cloud or network is refused, since anybody can rent an address there.
func ParseRanges(data []byte) ([]netip.Prefix, error) {
	var f rangeFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf(`not a range file: %w; use a file of the form {"prefixes": [{"ipv4Prefix": "192.0.2.0/27"}]}`, err)
	}
	if len(f.Prefixes) == 0 {
		return nil, errors.New(`has no prefixes: all who claim to be this crawler would be impostors; use a file of the form {"prefixes": [{"ipv4Prefix": "192.0.2.0/27"}]}`)
	}
	if len(f.Prefixes) > mostPrefixes {
		return nil, fmt.Errorf("has %d prefixes, more than %d: it is not the list of a crawler", len(f.Prefixes), mostPrefixes)
	}
	out := make([]netip.Prefix, 0, len(f.Prefixes))
	for i, one := range f.Prefixes {
		if one.Service != "" || one.Scope != "" {
			return nil, fmt.Errorf("prefixes[%d] has a service or a scope (%.40q): it is the list of a cloud, where anybody can rent an address; use the crawler's own file", i, cmp.Or(one.Service, one.Scope))
		}
		p, err := parsePrefix(one.V4, one.V6)
		if err != nil {
			return nil, fmt.Errorf("prefixes[%d]: %w", i, err)
		}
		out = append(out, p)
	}
	return out, nil
}

func parsePrefix(v4, v6 string) (netip.Prefix, error) {
	if (v4 == "") == (v6 == "") {
		return netip.Prefix{}, errors.New("requires exactly one of ipv4Prefix and ipv6Prefix")
	}
	text := cmp.Or(v4, v6)
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil || p.Addr().Is4In6() || p.Addr().Is4() != (v4 != ""):
		return netip.Prefix{}, fmt.Errorf("invalid prefix %.60q", text)
	case p.Addr().Is4() && p.Bits() < widestV4 || p.Addr().Is6() && p.Bits() < widestV6:
		return netip.Prefix{}, fmt.Errorf("%s is wider than a crawler's: it is the list of a network or cloud; use the crawler's own file", p)
	case p.Addr().IsPrivate() || p.Addr().IsLoopback() || p.Addr().IsUnspecified() || p.Addr().IsMulticast() || p.Addr().IsLinkLocalUnicast():
		return netip.Prefix{}, fmt.Errorf("%s is not an address on the internet", p)
	}
	return p.Masked(), nil
}

// NewRanges returns the ranges of some prefixes.
func NewRanges(prefixes []netip.Prefix) *Ranges {
	r := &Ranges{prefixes: len(prefixes)}
	sorted := slices.Clone(prefixes)
	slices.SortFunc(sorted, netip.Prefix.Compare) // by address; the wider of one address first
	for _, p := range sorted {
		s := span{p.Addr(), last(p)}
		if n := len(r.spans); n > 0 && s.low.Compare(r.spans[n-1].high) <= 0 { // inside the one before: prefixes do not overlap otherwise
			continue
		}
		r.spans = append(r.spans, s)
	}
	return r
}

// last returns the last address of a prefix.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b) // it is as long as it was
	return a
}

// Contains reports whether an address is in the ranges. Nil ones have none.
func (r *Ranges) Contains(addr netip.Addr) bool {
	if r == nil {
		return false
	}
	i, ok := slices.BinarySearchFunc(r.spans, addr, func(s span, a netip.Addr) int { return s.low.Compare(a) })
	return ok || i > 0 && addr.Compare(r.spans[i-1].high) <= 0
}

// Prefixes returns how many prefixes they were made of.
func (r *Ranges) Prefixes() int { return r.prefixes }
