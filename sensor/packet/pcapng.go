package packet

import "encoding/binary"

// The blocks that are read; all others are skipped.
const (
	blockSection   = 0x0a0d0d0a // the same in both byte orders
	blockInterface = 1
	blockPacket    = 2 // obsolete, still written by old programs
	blockSimple    = 3
	blockEnhanced  = 6
)

// byteOrderMagic follows a section's type and length, in the section's order.
const byteOrderMagic = 0x1a2b3c4d

// maxInterfaces bounds what a section may describe: 20 bytes of file make one.
const maxInterfaces = 1 << 16

// pcapng is a file in the format of
// https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html.
//
// google/gopacket's reader is not used since it allocates what a block claims
// (80 bytes of file can ask for 4 GB), and copies.
type pcapng struct {
	w          *window
	order      order
	known      bool // whether the present section's version is one that we know
	interfaces []iface
	// A simple packet has no time: it gets the last one's.
	sec, nsec int64
	timed     bool
}

// next implements records.
func (p *pcapng) next(r *record) error {
	for {
		b := p.w.peek(12)
		if len(b) == 0 {
			return p.w.end()
		}
		if len(b) < 12 {
			return p.w.short("the header of a block")
		}
		if p.order.uint32(b) == blockSection {
			if err := p.section(); err != nil {
				return err
			}
			continue
		}
		kind, length := p.order.uint32(b), p.order.uint32(b[4:])
		if length < 12 || length%4 != 0 {
			return p.w.damage("a block claims %d bytes: not at least 12 and a multiple of 4", length)
		}
		done, err := p.block(kind, length, r)
		if done || err != nil {
			return err
		}
	}
}

// block reads one block that is not a section's, and reports whether it was a
// packet.
func (p *pcapng) block(kind, length uint32, r *record) (bool, error) {
	switch {
	case !p.known:
		return false, p.skip(length)
	case kind == blockEnhanced, kind == blockPacket, kind == blockSimple:
		b, err := p.body(length)
		if err != nil {
			return false, err
		}
		return true, p.packet(kind, b, r)
	case kind == blockInterface:
		b, err := p.body(length)
		if err != nil {
			return false, err
		}
		return false, p.describe(b)
	}
	return false, p.skip(length)
}

// section reads the beginning of a section. What follows is in its byte order.
func (p *pcapng) section() error {
	b := p.w.peek(16)
	if len(b) < 16 {
		return p.w.short("the header of a section")
	}
	switch uint32(byteOrderMagic) {
	case binary.LittleEndian.Uint32(b[8:]):
		p.order.swapped = false
	case binary.BigEndian.Uint32(b[8:]):
		p.order.swapped = true
	default:
		return p.w.damage("a section's byte-order magic is %x", b[8:12])
	}
	length := p.order.uint32(b[4:])
	if length < 28 || length%4 != 0 {
		return p.w.damage("a section's header claims %d bytes: not at least 28 and a multiple of 4", length)
	}
	// Minor versions add nothing that must be understood (1.2 is written for
	// 1.0 by some); another major version is skipped whole, as the format says.
	p.known = p.order.uint16(b[12:]) == 1
	p.interfaces = p.interfaces[:0]
	return p.skip(length)
}

// skip takes a block that is not read, of any length.
func (p *pcapng) skip(length uint32) error {
	if !p.w.skip(int64(length) - 4) {
		return p.w.short("a block")
	}
	b := p.w.peek(4)
	if len(b) < 4 {
		return p.w.short("a block")
	}
	if p.order.uint32(b) != length {
		return p.w.damage("a block's two lengths differ: %d and %d", length, p.order.uint32(b))
	}
	p.w.from += 4
	return nil
}

// body takes a block and returns what is between its lengths.
func (p *pcapng) body(length uint32) ([]byte, error) {
	if length > windowSize {
		return nil, p.w.damage("a packet's or an interface's block claims %d bytes, more than %d", length, windowSize)
	}
	b := p.w.peek(int(length))
	if len(b) < int(length) {
		return nil, p.w.short("a block")
	}
	if again := p.order.uint32(b[length-4:]); again != length {
		return nil, p.w.damage("a block's two lengths differ: %d and %d", length, again)
	}
	p.w.from += int(length)
	return b[8 : length-4], nil
}

// describe adds an interface.
func (p *pcapng) describe(b []byte) error {
	if len(p.interfaces) == maxInterfaces {
		return p.w.damage("a section describes more than %d interfaces", maxInterfaces)
	}
	i, reason := parseInterface(p.order, b)
	if reason != "" {
		return p.w.damage("%s", reason)
	}
	p.interfaces = append(p.interfaces, i)
	return nil
}

// packet fills in r from a packet's block.
func (p *pcapng) packet(kind uint32, b []byte, r *record) error {
	if kind == blockSimple {
		return p.simple(b, r)
	}
	if len(b) < 20 {
		return p.w.damage("a packet's block is too short: %d bytes", len(b))
	}
	id := p.order.uint32(b)
	if kind == blockPacket {
		id = uint32(p.order.uint16(b)) // a count of drops follows
	}
	if id >= uint32(len(p.interfaces)) {
		return p.w.damage("a packet came over interface %d, which is not described", id)
	}
	length := p.order.uint32(b[12:])
	if length > maxCapture || int(length) > len(b)-20 {
		return p.w.damage("a packet claims %d bytes: more than %d, or than its block holds", length, maxCapture)
	}
	i := &p.interfaces[id]
	p.sec, p.nsec = i.time(uint64(p.order.uint32(b[4:]))<<32 | uint64(p.order.uint32(b[8:])))
	p.timed = true
	*r = record{sec: p.sec, nsec: p.nsec, timed: true, link: i.link, data: b[20 : 20+length]}
	return nil
}

// simple fills in r from a block that holds only the packet and its length on
// the wire.
func (p *pcapng) simple(b []byte, r *record) error {
	if len(b) < 4 {
		return p.w.damage("a packet's block is too short: %d bytes", len(b))
	}
	if len(p.interfaces) == 0 {
		return p.w.damage("a packet came over interface 0, which is not described")
	}
	i := &p.interfaces[0]
	length := p.order.uint32(b)
	if i.snap != 0 {
		length = min(length, i.snap)
	}
	length = min(length, maxCapture)
	if int(length) > len(b)-4 {
		return p.w.damage("a packet claims %d bytes, more than its block holds", length)
	}
	*r = record{sec: p.sec, nsec: p.nsec, timed: p.timed, link: i.link, data: b[4 : 4+length]}
	return nil
}
