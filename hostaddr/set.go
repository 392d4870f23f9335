package hostaddr

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// Set is protected prefixes in order, masked and unmapped, each once. It is
// not changed once made, and so safe for concurrent use.
type Set []Protected

// newSet puts what the sources found into order. A prefix that several of
// them named has all their reasons. Prefixes that are zero are left out: a
// caller's configuration has checked what it passes.
func newSet(all []Protected) Set {
	set := make(Set, 0, len(all))
	for _, p := range all {
		if prefix, ok := clean(p.Prefix); ok {
			set = append(set, Protected{prefix, p.Reason})
		}
	}
	slices.SortFunc(set, func(a, b Protected) int {
		return cmp.Or(
			a.Prefix.Addr().Compare(b.Prefix.Addr()),
			cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()),
			strings.Compare(a.Reason, b.Reason),
		)
	})
	set = slices.Compact(set)
	out := set[:0]
	for _, p := range set {
		if n := len(out); n > 0 && out[n-1].Prefix == p.Prefix {
			out[n-1].Reason += ", " + p.Reason
			continue
		}
		out = append(out, p)
	}
	return out
}

func clean(p netip.Prefix) (_ netip.Prefix, ok bool) {
	if p.IsValid() && p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), p.IsValid()
}

// Prefixes returns the set without its reasons, for blocklist.SetProtected.
func (s Set) Prefixes() []netip.Prefix {
	out := make([]netip.Prefix, len(s))
	for i, p := range s {
		out[i] = p.Prefix
	}
	return out
}

// Why returns the longest protected prefix that holds all of prefix, with its
// reason, so that a refused block can name it; false if there is none.
func (s Set) Why(prefix netip.Prefix) (Protected, bool) {
	prefix, ok := clean(prefix)
	if !ok {
		return Protected{}, false
	}
	// In the order of a set, of two prefixes that hold the same address the
	// longer one comes later.
	for _, p := range slices.Backward(s) {
		if p.Prefix.Bits() <= prefix.Bits() && p.Prefix.Contains(prefix.Addr()) {
			return p, true
		}
	}
	return Protected{}, false
}
