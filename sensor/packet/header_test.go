package packet

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"edgeguard"
)

// The packets that the tests of headers start from.
var (
	from4 = netip.MustParseAddr("203.0.113.7")
	to4   = netip.MustParseAddr("192.0.2.1")
	from6 = netip.MustParseAddr("2001:db8::7")
	to6   = netip.MustParseAddr("2001:db8:1::1")
)

func udpPacket(t testing.TB, from, to netip.Addr, payload string) []byte {
	return serialize(t, network3(from, to, layers.IPProtocolUDP), &layers.UDP{SrcPort: 5353, DstPort: 53}, gopacket.Payload(payload))
}

func tcpPacket(t testing.TB, from, to netip.Addr, payload string) []byte {
	return serialize(t, network3(from, to, layers.IPProtocolTCP),
		&layers.TCP{SrcPort: 40000, DstPort: 80, SYN: true, Seq: 7}, gopacket.Payload(payload))
}

// between6 puts an extension header between an IPv6 header and the rest.
func between6(packet []byte, kind uint8, extension ...byte) []byte {
	extension[0] = packet[6]
	out := slices.Concat(packet[:40], extension, packet[40:])
	out[6] = kind
	binary.BigEndian.PutUint16(out[4:], uint16(len(out)-40))
	return out
}

// change returns a copy with one byte changed.
func change(packet []byte, at int, value byte) []byte {
	out := slices.Clone(packet)
	out[at] = value
	return out
}

func TestHeader(t *testing.T) {
	udp4, udp6 := udpPacket(t, from4, to4, "question"), udpPacket(t, from6, to6, "question")
	tcp4, tcp6 := tcpPacket(t, from4, to4, "data"), tcpPacket(t, from6, to6, "data")
	icmp4 := serialize(t, network3(from4, to4, layers.IPProtocolICMPv4), &layers.ICMPv4{TypeCode: 0x0800})
	icmp6 := serialize(t, network3(from6, to6, layers.IPProtocolICMPv6), &layers.ICMPv6{TypeCode: 0x8000}, gopacket.Payload("\x00\x00\x00\x00"))
	options := slices.Concat(change(udp4[:20], 0, 0x46), []byte{1, 1, 1, 0}, udp4[20:])
	options[3] += 4
	authenticated := slices.Concat(change(udp4[:20], 9, protoAH), make([]byte, 12), udp4[20:])
	authenticated[3] += 12
	authenticated[20], authenticated[21] = protoUDP, 1
	const packet, syn, udp, icmp = edgeguard.KindPacket, edgeguard.KindSYN, edgeguard.KindUDP, edgeguard.KindICMP
	cases := []struct {
		name    string
		data    []byte
		version uint8
		kind    edgeguard.Kind // 0: not readable
		port    uint16         // 0: not known
		tcp     bool
	}{
		{"UDP over IPv4", udp4, 4, packet | udp, 53, false},
		{"UDP over IPv6", udp6, 6, packet | udp, 53, false},
		{"TCP over IPv4", tcp4, 4, packet | syn, 80, true},
		{"TCP over IPv6", tcp6, 6, packet | syn, 80, true},
		{"ICMP", icmp4, 4, packet | icmp, 0, false},
		{"ICMPv6", icmp6, 6, packet | icmp, 0, false},
		{"ICMP over IPv6 is none", change(icmp6, 6, protoICMP), 6, packet, 0, false},
		{"IPv4 options", options, 4, packet | udp, 53, false},
		{"AH over IPv4", authenticated, 4, packet | udp, 53, false},
		{"GRE", change(udp4, 9, 47), 4, packet, 0, false},
		{"first fragment", change(tcp4, 6, 0x20), 4, packet | syn, 80, false},
		{"later fragment", change(tcp4, 7, 1), 4, packet, 0, false},
		{"do not fragment", change(tcp4, 6, 0x40), 4, packet | syn, 80, true},
		{"hop by hop", between6(tcp6, protoHopByHop, make([]byte, 8)...), 6, packet | syn, 80, true},
		{"routing, then destination", between6(between6(tcp6, protoDestination, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
			protoRouting, make([]byte, 8)...), 6, packet | syn, 80, true},
		{"AH over IPv6", between6(tcp6, protoAH, ah6()...), 6, packet | syn, 80, true},
		{"IPv6 first fragment", between6(tcp6, protoFragment, 0, 0, 0, 1, 0, 0, 0, 9), 6, packet | syn, 80, false},
		{"IPv6 later fragment", between6(tcp6, protoFragment, 0, 0, 0, 8, 0, 0, 0, 9), 6, packet, 0, false},
		{"IPv6 fragment that is all", between6(tcp6, protoFragment, 0, 0, 0, 0, 0, 0, 0, 9), 6, packet | syn, 80, true},
		{"no next header", change(tcp6, 6, 59), 6, packet, 0, false},
		{"an extension longer than the packet", between6(tcp6, protoHopByHop, 0, 255, 0, 0, 0, 0, 0, 0), 6, packet, 0, false},
		{"cut off in the ports", udp4[:23], 4, packet | udp, 0, false},
		{"cut off after the ports", udp4[:24], 4, packet | udp, 53, false},
		{"cut off before the flags", tcp4[:33], 4, packet, 80, false},
		{"cut off after the flags", tcp4[:34], 4, packet | syn, 80, false},
		{"cut off after the IPv4 header", udp4[:20], 4, packet | udp, 0, false},
		{"cut off in the IPv4 header", udp4[:19], 4, 0, 0, false},
		{"cut off in the IPv6 header", udp6[:39], 6, 0, 0, false},
		{"cut off in IPv4 options", options[:22], 4, packet, 0, false},
		{"empty", nil, 4, 0, 0, false},
		{"IPv4 said, IPv6 sent", udp6, 4, 0, 0, false},
		{"IPv6 said, IPv4 sent", tcpPacket(t, from4, to4, "0123456789"), 6, 0, 0, false},
		{"header length under 20", change(udp4, 0, 0x44), 4, 0, 0, false},
		{"total length 0", change(change(tcp4, 2, 0), 3, 0), 4, packet | syn, 80, true},
		{"total length within the TCP header", change(tcp4, 3, 30), 4, packet, 80, false},
		{"data offset under 20", change(tcp4, 32, 0x40), 4, packet | syn, 80, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := header{ports: true, tcp: true, kind: 0xff} // what was before must not show
			if h.parse(c.data, c.version) != (c.kind != 0) {
				t.Fatal("readable:", c.kind == 0)
			}
			if c.kind == 0 {
				return
			}
			if h.kind != c.kind || h.ports != (c.port != 0) || h.ports && h.destPort != c.port || h.tcp != c.tcp {
				t.Errorf("got kind %v, port %v %d, TCP %v", h.kind, h.ports, h.destPort, h.tcp)
			}
			if want := map[uint8]netip.Addr{4: from4, 6: from6}[c.version]; h.source != want {
				t.Errorf("got source %v, want %v", h.source, want)
			}
		})
	}
}

func TestHeaderPayload(t *testing.T) {
	whole := tcpPacket(t, from4, to4, "GET / HTTP/1.1\r\n")
	padded := slices.Concat(whole, make([]byte, 6)) // Ethernet's shortest frame
	var h header
	h.parse(padded, 4)
	if string(h.payload) != "GET / HTTP/1.1\r\n" || h.length != 16 {
		t.Errorf("padded: %q, %d on the wire", h.payload, h.length)
	}
	h.parse(whole[:len(whole)-10], 4)
	if string(h.payload) != "GET / " || h.length != 16 {
		t.Errorf("cut off: %q, %d on the wire", h.payload, h.length)
	}
	mapped := tcpPacket(t, netip.MustParseAddr("::ffff:198.51.100.1"), to6, "")
	if !h.parse(mapped, 6) || h.source != netip.MustParseAddr("198.51.100.1") {
		t.Errorf("a mapped source is read as %v", h.source)
	}
}

// compareWithGopacket holds the header against gopacket's decoding, where that
// understands the packet.
func compareWithGopacket(t *testing.T, b []byte, version uint8) {
	t.Helper()
	first := gopacket.Decoder(layers.LayerTypeIPv4)
	if version == 6 {
		first = layers.LayerTypeIPv6
	}
	var h header
	ok := h.parse(b, version)
	p := decodeWithGopacket(b, first)
	if p == nil {
		return
	}
	var source, dest []byte
	direct := true // gopacket looks for IPv6's extension headers behind IPv4's, too
	switch l := p.NetworkLayer().(type) {
	case *layers.IPv4:
		direct = l.Protocol == layers.IPProtocolTCP || l.Protocol == layers.IPProtocolUDP || l.Protocol == layers.IPProtocolICMPv4
		if l.Version != 4 || l.IHL < 5 {
			return // gopacket gives the layer that it could not read, too
		}
		source, dest = l.SrcIP, l.DstIP
	case *layers.IPv6:
		if l.Version != 6 || l.HopByHop != nil && int(l.Length) != len(b)-40 {
			return // gopacket takes the captured length where there is a hop-by-hop header
		}
		source, dest = l.SrcIP, l.DstIP
	default:
		return
	}
	if !ok {
		t.Fatalf("not readable, but gopacket reads %v\n%x", p, b)
	}
	s, _ := netip.AddrFromSlice(source)
	d, _ := netip.AddrFromSlice(dest)
	if h.source != s.Unmap() || h.dest != d.Unmap() {
		t.Fatalf("got %v > %v, gopacket reads %v > %v\n%x", h.source, h.dest, s, d, b)
	}
	if direct {
		compareTransport(t, &h, p, b)
		compareICMP(t, &h, p, b)
	}
}

func compareTransport(t *testing.T, h *header, p gopacket.Packet, b []byte) {
	t.Helper()
	if l := p.TransportLayer(); l == nil || len(l.LayerContents()) == 0 {
		return // gopacket gives the layer that it could not read, too
	}
	switch l := p.TransportLayer().(type) {
	case *layers.TCP:
		if !h.ports || h.sourcePort != uint16(l.SrcPort) || h.destPort != uint16(l.DstPort) ||
			(h.kind&edgeguard.KindSYN != 0) != (l.SYN && !l.ACK) {
			t.Fatalf("got %+v, gopacket reads %+v\n%x", h, l, b)
		}
		if int(l.DataOffset)*4 > len(l.Contents)+len(l.Payload) {
			return // gopacket reads a header that is cut off, too
		}
		if !h.tcp || h.seq != l.Seq || h.ack != l.Ack || string(h.payload) != string(l.Payload) {
			t.Fatalf("got %+v, gopacket reads %+v\n%x", h, l, b)
		}
	case *layers.UDP:
		if h.kind&edgeguard.KindUDP == 0 || !h.ports || h.sourcePort != uint16(l.SrcPort) || h.destPort != uint16(l.DstPort) {
			t.Fatalf("got %+v, gopacket reads %+v\n%x", h, l, b)
		}
	}
}

// compareICMP does the same for what gopacket knows as no transport.
func compareICMP(t *testing.T, h *header, p gopacket.Packet, b []byte) {
	t.Helper()
	_, four := p.NetworkLayer().(*layers.IPv4)
	if four && p.Layer(layers.LayerTypeICMPv4) != nil || !four && p.Layer(layers.LayerTypeICMPv6) != nil {
		if h.kind&edgeguard.KindICMP == 0 {
			t.Fatalf("got kind %v, gopacket reads ICMP\n%x", h.kind, b)
		}
	}
}

// decodeWithGopacket returns nil where gopacket finds an error, panics, or reads
// a transport inside a tunnel, which is not ours to read.
func decodeWithGopacket(b []byte, first gopacket.Decoder) (p gopacket.Packet) {
	defer func() {
		if recover() != nil {
			p = nil
		}
	}()
	p = gopacket.NewPacket(b, first, gopacket.NoCopy)
	networks := 0
	for _, l := range p.Layers() {
		switch l.LayerType() {
		case layers.LayerTypeIPv4, layers.LayerTypeIPv6:
			networks++
		}
	}
	if networks != 1 || p.NetworkLayer() == nil {
		return nil
	}
	return p
}

func TestHeaderAgainstGopacket(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	tcp6 := tcpPacket(t, from6, to6, "data")
	bases := [][]byte{
		udpPacket(t, from4, to4, "question"), udpPacket(t, from6, to6, "question"), tcpPacket(t, from4, to4, "data"), tcp6,
		between6(tcp6, protoHopByHop, make([]byte, 8)...), between6(tcp6, protoFragment, make([]byte, 8)...),
		between6(tcp6, protoAH, ah6()...), between6(tcp6, protoRouting, make([]byte, 8)...),
	}
	for range 50000 {
		b := slices.Clone(bases[random.IntN(len(bases))])
		version := b[0] >> 4
		for range random.IntN(4) {
			b[random.IntN(len(b))] = byte(random.Uint32())
		}
		if random.IntN(4) == 0 {
			b = b[:random.IntN(len(b)+1)]
		}
		compareWithGopacket(t, b, version)
	}
}

// ah6 is an authentication header of 24 bytes.
func ah6() []byte { return append([]byte{0, 4}, make([]byte, 22)...) }
