package packet

import (
	"encoding/binary"
	"net/netip"

	"edgeguard"
)

// The protocols that are read.
const (
	protoHopByHop    = 0
	protoICMP        = 1
	protoTCP         = 6
	protoUDP         = 17
	protoRouting     = 43
	protoFragment    = 44
	protoAH          = 51
	protoICMPv6      = 58
	protoDestination = 60
)

// The TCP flags that matter.
const (
	flagSYN = 0x02
	flagRST = 0x04
	flagACK = 0x10
)

// header is what the headers of one IP packet say.
//
// Decoded by hand: the layer parser of google/gopacket takes several times as
// long, and its answers are what the tests compare with.
type header struct {
	source, dest netip.Addr
	// kind is Packet and what the headers alone show.
	kind edgeguard.Kind
	// ports says that the two are known: not for ICMP, later fragments and
	// what is cut off.
	ports                bool
	sourcePort, destPort uint16
	// tcp says that the fields below are known: the TCP header is whole, and
	// the packet is not a fragment.
	tcp      bool
	flags    uint8
	seq, ack uint32
	payload  []byte // as much of it as was captured
	length   uint32 // how long it was on the wire
}

// parse reads an IP packet, and reports whether it is one: whether its first
// header is whole and of the version announced.
func (h *header) parse(b []byte, version uint8) bool {
	h.kind = edgeguard.KindPacket
	h.ports = false
	h.tcp = false
	h.flags = 0
	if version == 4 {
		return h.parse4(b)
	}
	return h.parse6(b)
}

func (h *header) parse4(b []byte) bool {
	if len(b) < 20 || b[0]>>4 != 4 {
		return false
	}
	size := int(b[0]&0x0f) * 4
	if size < 20 {
		return false
	}
	h.source = netip.AddrFrom4([4]byte(b[12:16]))
	h.dest = netip.AddrFrom4([4]byte(b[16:20]))
	// A total length of 0 or nonsense is what segmentation in the network card
	// leaves: then all that was captured counts.
	total := int(binary.BigEndian.Uint16(b[2:]))
	if total < size {
		total = len(b)
	}
	fragment := binary.BigEndian.Uint16(b[6:]) & 0x3fff // more to come, and offset
	if fragment&0x1fff != 0 || len(b) < size {
		return true
	}
	h.transport(b[9], b[size:min(len(b), total)], uint32(total-size), fragment != 0, false)
	return true
}

func (h *header) parse6(b []byte) bool {
	if len(b) < 40 || b[0]>>4 != 6 {
		return false
	}
	h.source = netip.AddrFrom16([16]byte(b[8:24])).Unmap()
	h.dest = netip.AddrFrom16([16]byte(b[24:40])).Unmap()
	length := int(binary.BigEndian.Uint16(b[4:]))
	if length == 0 { // a jumbogram, or segmentation in the network card
		length = len(b) - 40
	}
	h.transport(b[6], b[40:min(len(b), 40+length)], uint32(length), false, true)
	return true
}

// transport follows extension headers to TCP, UDP or ICMP. length is that of
// b on the wire. Each turn takes at least 8 bytes of b.
func (h *header) transport(proto uint8, b []byte, length uint32, fragment, six bool) {
	for {
		size := 0
		switch {
		case proto == protoTCP:
			h.parseTCP(b, length, fragment)
			return
		case proto == protoUDP:
			h.kind |= edgeguard.KindUDP
			h.parsePorts(b)
			return
		case proto == protoICMP && !six, proto == protoICMPv6 && six:
			h.kind |= edgeguard.KindICMP
			return
		case len(b) < 8:
			return
		case proto == protoAH:
			size = (int(b[1]) + 2) * 4
		case !six:
			return
		case proto == protoHopByHop, proto == protoRouting, proto == protoDestination:
			size = (int(b[1]) + 1) * 8
		case proto == protoFragment:
			size = 8
			offset := binary.BigEndian.Uint16(b[2:])
			if offset&0xfff8 != 0 {
				return
			}
			fragment = fragment || offset&1 != 0
		default:
			return
		}
		if size < 8 || size > len(b) || uint32(size) > length {
			return
		}
		proto, b, length = b[0], b[size:], length-uint32(size)
	}
}

func (h *header) parsePorts(b []byte) {
	if len(b) < 4 {
		return
	}
	h.ports = true
	h.sourcePort = binary.BigEndian.Uint16(b)
	h.destPort = binary.BigEndian.Uint16(b[2:])
}

func (h *header) parseTCP(b []byte, length uint32, fragment bool) {
	h.parsePorts(b)
	if len(b) < 14 {
		return
	}
	h.flags = b[13]
	if h.flags&(flagSYN|flagACK) == flagSYN {
		h.kind |= edgeguard.KindSYN
	}
	size := int(b[12]>>4) * 4
	if fragment || size < 20 || len(b) < size || length < uint32(size) {
		return
	}
	h.tcp = true
	h.seq = binary.BigEndian.Uint32(b[4:])
	h.ack = binary.BigEndian.Uint32(b[8:])
	h.payload = b[size:]
	h.length = length - uint32(size)
}
