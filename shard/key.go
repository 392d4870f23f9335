package shard

import (
	"encoding/binary"
	"net/netip"
)

// key is a key's identity as its page holds it: the address cut to the
// table's prefix, and the fingerprint of the attributes or the second half of
// an IPv6 address. What a family does not use is zero.
type key struct {
	first, rest uint64
}

// family is IPv4 or IPv6: each has entries of its own size and so pages of
// its own. Their keys can therefore never be taken for each other.
type family uint8

const (
	v4 family = iota
	v6
)

// prefix says how a family's addresses become keys and back.
type prefix struct {
	bits        uint8
	first, rest uint64 // masks
	with        bool
	everybody   bool // keys have no address
}

func newPrefix(f family, bits uint8, with bool) prefix {
	p := prefix{bits: bits, with: with}
	switch {
	case f == v4:
		p.first = uint64(^uint32(0) << (32 - bits))
	case bits <= 64:
		p.first = ^uint64(0) << (64 - bits)
	default:
		p.first, p.rest = ^uint64(0), ^uint64(0)<<(128-bits)
	}
	return p
}

// keyOfIPv4 is the key of an IPv4 address.
func (p *prefix) keyOfIPv4(addr netip.Addr) uint64 {
	a := addr.As4()
	return uint64(binary.BigEndian.Uint32(a[:])) & p.first
}

// keySize is the bytes of the family's keys.
func (p *prefix) keySize(f family) uintptr {
	size := uintptr(4)
	if f == v6 {
		size = 8
	}
	if p.with || p.rest != 0 {
		size += 8
	}
	return size
}

// addrOf returns the address that a key was made of, cut to the prefix; none where keys have
// no address.
func (p *prefix) addrOf(f family, k key) netip.Prefix {
	if p.everybody {
		return netip.Prefix{}
	}
	if f == v4 {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(k.first))
		return netip.PrefixFrom(netip.AddrFrom4(b), int(p.bits))
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], k.first)
	if !p.with {
		binary.BigEndian.PutUint64(b[8:], k.rest)
	}
	return netip.PrefixFrom(netip.AddrFrom16(b), int(p.bits))
}
