package packet

import "encoding/binary"

// The EtherTypes that matter.
const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	tagVLAN   = 0x8100
	tagQinQ   = 0x88a8
	tagOld    = 0x9100 // QinQ before it had a number
)

// network finds the IP packet behind a link layer's header. version is what
// that header announces, 4 or 6, or 0 where it announces something else or
// the link type is not read.
func network(link LinkType, b []byte) (ip []byte, version uint8) {
	switch link {
	case linkEthernet:
		return behindType(b, 12)
	case linkRaw, linkRaw12, linkRaw14:
		return announced(b)
	case linkCooked:
		return behindType(b, 14)
	case linkCookedTwo:
		if len(b) < 20 {
			return nil, 0
		}
		return behindVLAN(b[20:], binary.BigEndian.Uint16(b))
	case linkNull, linkLoop:
		return behindFamily(b)
	case linkIPv4:
		return b, 4
	case linkIPv6:
		return b, 6
	}
	return nil, 0
}

// behindType reads the EtherType at a place in the header, which it ends.
func behindType(b []byte, at int) ([]byte, uint8) {
	if len(b) < at+2 {
		return nil, 0
	}
	return behindVLAN(b[at+2:], binary.BigEndian.Uint16(b[at:]))
}

// behindVLAN follows VLAN tags: there may be several.
func behindVLAN(b []byte, etherType uint16) ([]byte, uint8) {
	for {
		switch etherType {
		case etherIPv4:
			return b, 4
		case etherIPv6:
			return b, 6
		case tagVLAN, tagQinQ, tagOld:
			if len(b) < 4 {
				return nil, 0
			}
			etherType = binary.BigEndian.Uint16(b[2:])
			b = b[4:]
		default:
			return nil, 0
		}
	}
}

// behindFamily reads the address family before a loopback packet. Its byte
// order is the writer's, and its number for IPv6 the writer's system's.
func behindFamily(b []byte) ([]byte, uint8) {
	if len(b) < 4 {
		return nil, 0
	}
	family := binary.LittleEndian.Uint32(b)
	if family&0xffff0000 != 0 {
		family = binary.BigEndian.Uint32(b)
	}
	switch family {
	case 2:
		return b[4:], 4
	case 10, 24, 28, 30: // Linux, NetBSD and OpenBSD, FreeBSD, Darwin
		return b[4:], 6
	}
	return nil, 0
}

// announced takes the version from the packet itself.
func announced(b []byte) ([]byte, uint8) {
	if len(b) == 0 {
		return nil, 0
	}
	if v := b[0] >> 4; v == 4 || v == 6 {
		return b, v
	}
	return nil, 0
}
