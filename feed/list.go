package feed

import (
	"errors"
	"iter"
	"net/netip"
	"slices"
)

// List is the prefixes of a list, in their order and each once. It takes 5 bytes for a
// prefix of IPv4 and 17 for one of IPv6, and does not change once it is made. Nil is an
// empty list.
type List struct {
	packed []byte
	n      int
}

// v6Mark is added to the length of a prefix of IPv6, so that the first byte of a packed
// prefix also says of which family it is.
const v6Mark = 64

// newList returns the list of some prefixes, which it sorts. They must be masked, and
// none may be IPv4 written as IPv6.
func newList(prefixes []netip.Prefix) *List {
	slices.SortFunc(prefixes, compare)
	prefixes = slices.Compact(prefixes)
	l := &List{n: len(prefixes)}
	for _, p := range prefixes {
		if p.Addr().Is4() {
			b := p.Addr().As4()
			l.packed = append(append(l.packed, byte(p.Bits())), b[:]...)
		} else {
			b := p.Addr().As16()
			l.packed = append(append(l.packed, byte(v6Mark+p.Bits())), b[:]...)
		}
	}
	l.packed = slices.Clip(l.packed)
	return l
}

// compare orders prefixes by address, the wider of one address first. It is written out
// because lists on disk depend on it.
func compare(a, b netip.Prefix) int {
	if c := a.Addr().Compare(b.Addr()); c != 0 {
		return c
	}
	return a.Bits() - b.Bits()
}

// Len returns how many prefixes the list has.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return l.n
}

// Prefixes returns the prefixes in their order.
func (l *List) Prefixes() iter.Seq[netip.Prefix] {
	return func(yield func(netip.Prefix) bool) {
		if l == nil {
			return
		}
		for rest := l.packed; len(rest) > 0; {
			var p netip.Prefix
			p, rest = unpack(rest)
			if !yield(p) {
				return
			}
		}
	}
}

// unpack returns the first prefix of what newList packed, and what follows it. The
// prefix is invalid if there is none.
func unpack(b []byte) (netip.Prefix, []byte) {
	switch {
	case len(b) >= 5 && b[0] <= 32:
		return netip.PrefixFrom(netip.AddrFrom4([4]byte(b[1:])), int(b[0])), b[5:]
	case len(b) >= 17 && b[0] >= v6Mark && b[0] <= v6Mark+128:
		return netip.PrefixFrom(netip.AddrFrom16([16]byte(b[1:])), int(b[0]-v6Mark)), b[17:]
	}
	return netip.Prefix{}, nil
}

// errPacked says that bytes are not a packed list.
var errPacked = errors.New("not a list of prefixes in their order")

// unpackAll returns the list of packed bytes, which it keeps. It accepts only what
// newList makes.
func unpackAll(b []byte) (*List, error) {
	l := &List{packed: b}
	var before netip.Prefix
	for rest := b; len(rest) > 0; l.n++ {
		var p netip.Prefix
		p, rest = unpack(rest)
		if !p.IsValid() || p != p.Masked() || p.Addr().Is4In6() || l.n > 0 && compare(before, p) >= 0 {
			return nil, errPacked
		}
		before = p
	}
	return l, nil
}

// Changes returns how many prefixes next has that l has not, and how many it lacks.
func (l *List) Changes(next *List) (added, gone int) {
	was, is := restOfFile(l), restOfFile(next)
	a, was := unpack(was)
	b, is := unpack(is)
	for a.IsValid() || b.IsValid() {
		c := 0
		if a.IsValid() && b.IsValid() {
			c = compare(a, b)
		}
		switch {
		case !b.IsValid() || a.IsValid() && c < 0:
			gone++
			a, was = unpack(was)
		case !a.IsValid() || c > 0:
			added++
			b, is = unpack(is)
		default:
			a, was = unpack(was)
			b, is = unpack(is)
		}
	}
	return added, gone
}

func restOfFile(l *List) []byte {
	if l == nil {
		return nil
	}
	return l.packed
}
