package blocklist

import (
	"encoding/binary"
	"net/netip"
)

// network is a masked address as two numbers, IPv4 in its IPv6-mapped form, so
// that one code serves both families. Its length is kept beside it, counted
// from the mapped form's first bit: an IPv4 /24 has 120.
type network struct{ hi, lo uint64 }

// mapped is by how much an IPv4 prefix is longer in its mapped form.
const mapped = 96

// split takes a masked prefix apart.
func split(p netip.Prefix) (n network, length uint8) {
	length = uint8(p.Bits())
	if p.Addr().Is4() {
		length += mapped
	}
	return numbers(p.Addr()), length
}

func numbers(addr netip.Addr) network {
	b := addr.As16()
	return network{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// masked keeps the first bits. (A shift by 64 or more gives 0.)
func (n network) masked(length uint8) network {
	if length >= 64 {
		n.lo &= ^uint64(0) << (128 - length)
		return n
	}
	return network{hi: n.hi & (^uint64(0) << (64 - length))}
}
