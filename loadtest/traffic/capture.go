package traffic

import (
	"bufio"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net/netip"
)

// Capture is a packet capture: the classic pcap format, little-endian,
// microseconds, Ethernet, whole packets. As at a server under load most
// packets are short (nine in ten are a SYN, an acknowledgement or a small
// datagram of 60 to 100 bytes, one in ten 200 to 1,514), and a few sources
// send most of them (Zipf). One source in eight is IPv6, one packet in five
// UDP.
//
// Header checksums of IPv4 are right; those of TCP and UDP are 0, as they are
// in captures on a host that leaves them to its network card.
type Capture struct {
	Packets int    // how many packets
	Sources int    // how many sources to draw from; 0 means 100,000
	Rate    int    // packets a second; 0 means 20,000
	Seed    uint64 // another seed gives another capture
}

// Lengths of the headers, in bytes, and the snap length that the file states.
const (
	recordHeader = 16
	etherHeader  = 14
	ipv4Header   = 20
	ipv6Header   = 40
	tcpHeader    = 20
	udpHeader    = 8
	snapLength   = 65535
)

// The protocol numbers of IANA.
const (
	protoTCP = 6
	protoUDP = 17
)

// Write writes the capture to w. Its error is w's.
func (c Capture) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	if _, err := out.Write(fileHeader()); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(c.Seed, 2))
	sources := rand.NewZipf(rng, zipfSkew, 1, uint64(orDefault(c.Sources, 100_000))-1)
	rate := orDefault(c.Rate, 20_000)
	buf := make([]byte, recordHeader+1514)
	for i := range c.Packets {
		n := frame(buf[recordHeader:], client(sources.Uint64()), rng)
		binary.LittleEndian.PutUint32(buf[0:], uint32(logStart+i/rate))
		binary.LittleEndian.PutUint32(buf[4:], uint32(i%rate*(1_000_000/rate)))
		binary.LittleEndian.PutUint32(buf[8:], uint32(n))
		binary.LittleEndian.PutUint32(buf[12:], uint32(n))
		if _, err := out.Write(buf[:recordHeader+n]); err != nil {
			return err
		}
	}
	return out.Flush()
}

// fileHeader is the start of a pcap file: magic number, version 2.4, time
// zone, accuracy, snap length, Ethernet.
func fileHeader() []byte {
	h := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	h = binary.LittleEndian.AppendUint16(h, 2)
	h = binary.LittleEndian.AppendUint16(h, 4)
	h = append(h, make([]byte, 8)...)
	h = binary.LittleEndian.AppendUint32(h, snapLength)
	return binary.LittleEndian.AppendUint32(h, 1)
}

// frame writes one Ethernet frame from src into buf and gives its length.
func frame(buf []byte, src netip.Addr, rng *rand.Rand) int {
	size := 60 + rng.IntN(41)
	if rng.IntN(10) == 0 {
		size = 200 + rng.IntN(1315)
	}
	proto := byte(protoTCP)
	if rng.IntN(5) == 0 {
		proto = protoUDP
	}
	header := ipv4Header
	if src.Is6() {
		header = ipv6Header
		size = max(size, etherHeader+ipv6Header+tcpHeader)
	}
	clear(buf[:size])
	copy(buf, "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02")
	packet := buf[etherHeader:size]
	if src.Is6() {
		buf[12], buf[13] = 0x86, 0xdd
		ipv6(packet, src, proto)
	} else {
		buf[12], buf[13] = 0x08, 0x00
		ipv4(packet, src, proto)
	}
	transport(packet[header:], proto, rng)
	return size
}

// ipv4 writes a header without options (RFC 791) for the whole packet.
func ipv4(packet []byte, src netip.Addr, proto byte) {
	packet[0], packet[8], packet[9] = 0x45, 64, proto
	binary.BigEndian.PutUint16(packet[2:], uint16(len(packet)))
	from := src.As4()
	copy(packet[12:], from[:])
	copy(packet[16:], []byte{192, 0, 2, 80})
	sum := uint32(0)
	for i := 0; i < ipv4Header; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(packet[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(packet[10:], ^uint16(sum))
}

// ipv6 writes a header without extensions (RFC 8200) for the whole packet.
func ipv6(packet []byte, src netip.Addr, proto byte) {
	packet[0], packet[6], packet[7] = 0x60, proto, 64
	binary.BigEndian.PutUint16(packet[4:], uint16(len(packet)-ipv6Header))
	from := src.As16()
	copy(packet[8:], from[:])
	copy(packet[24:], "\x20\x01\x0d\xb8\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x50")
}

// transport writes a TCP segment (three in ten a SYN, the rest ACKs) or a UDP
// datagram.
func transport(segment []byte, proto byte, rng *rand.Rand) {
	binary.BigEndian.PutUint16(segment[0:], uint16(1024+rng.IntN(64000)))
	if proto == protoUDP {
		binary.BigEndian.PutUint16(segment[2:], 443)
		binary.BigEndian.PutUint16(segment[4:], uint16(len(segment)))
		return
	}
	binary.BigEndian.PutUint16(segment[2:], 80)
	binary.BigEndian.PutUint32(segment[4:], rng.Uint32())
	segment[12] = tcpHeader / 4 << 4
	binary.BigEndian.PutUint16(segment[14:], 64240)
	const syn, ack = 0x02, 0x10
	if rng.IntN(10) < 3 {
		segment[13] = syn
		return
	}
	segment[13] = ack
	binary.BigEndian.PutUint32(segment[8:], rng.Uint32())
}
