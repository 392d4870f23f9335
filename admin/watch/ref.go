package watch

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
	"sort"
)

// Ref refers to a prefix, with what it is sorted by: 32 bytes.
type Ref struct {
	key    int64
	hi, lo uint64 // the address as IPv6
	bits   uint8
	v6     bool
}

// refSize is the size of a Ref in memory.
const refSize = 32

// NewRef returns the reference to a masked prefix. Those of one key are in the order
// of their prefixes.
func NewRef(key int64, p netip.Prefix) Ref {
	addr := p.Addr().As16()
	return Ref{key: key, hi: binary.BigEndian.Uint64(addr[:8]), lo: binary.BigEndian.Uint64(addr[8:]), bits: uint8(p.Bits()), v6: p.Addr().Is6()}
}

// Key returns what the prefix was sorted by.
func (r Ref) Key() int64 { return r.key }

// Prefix returns the prefix.
func (r Ref) Prefix() netip.Prefix {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], r.hi)
	binary.BigEndian.PutUint64(b[8:], r.lo)
	addr := netip.AddrFrom16(b)
	if !r.v6 {
		addr = addr.Unmap()
	}
	return netip.PrefixFrom(addr, int(r.bits))
}

// compare orders by key, and then as netip.Prefix.Compare: IPv4 first.
func (r Ref) compare(o Ref) int {
	switch {
	case r.key != o.key:
		return cmp.Compare(r.key, o.key)
	case r.v6 != o.v6:
		if o.v6 {
			return -1
		}
		return 1
	case r.hi != o.hi:
		return cmp.Compare(r.hi, o.hi)
	case r.lo != o.lo:
		return cmp.Compare(r.lo, o.lo)
	}
	return cmp.Compare(r.bits, o.bits)
}

// SortedList is references in their order.
type SortedList []Ref

// Sort puts references in their order.
func Sort(refs []Ref) SortedList {
	slices.SortFunc(refs, Ref.compare)
	return refs
}

// Walk is what is left of a list, from one end to the other.
type Walk struct {
	rest      SortedList
	backwards bool
}

// All is a walk through all of the list.
func (l SortedList) All(backwards bool) Walk { return Walk{l, backwards} }

// Behind is a walk through what comes behind a reference, which need not be in the
// list.
func (l SortedList) Behind(after Ref, backwards bool) Walk {
	if backwards {
		return Walk{l[:sort.Search(len(l), func(i int) bool { return l[i].compare(after) >= 0 })], true}
	}
	return Walk{l[sort.Search(len(l), func(i int) bool { return l[i].compare(after) > 0 }):], false}
}

// Len returns how many references the walk has.
func (w Walk) Len() int { return len(w.rest) }

// At returns the i-th of them.
func (w Walk) At(i int) Ref {
	if w.backwards {
		i = len(w.rest) - 1 - i
	}
	return w.rest[i]
}
