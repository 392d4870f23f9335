package packet

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/netip"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"edgeguard"
)

// start is when the captures that the tests make begin.
var start = time.Unix(1700000000, 0).UTC()

// builder writes a capture packet by packet, a millisecond apart.
type builder struct {
	t     testing.TB
	file  bytes.Buffer
	count int
	step  time.Duration // before the next packet
	order binary.AppendByteOrder
}

func newBuilder(t testing.TB, link LinkType) *builder {
	b := &builder{t: t, order: binary.LittleEndian}
	b.file.Write(pcapFileHeader(binary.LittleEndian, magicMicro, 4, link))
	return b
}

func pcapFileHeader(o binary.AppendByteOrder, magic uint32, minor uint16, link LinkType) []byte {
	h := o.AppendUint32(nil, magic)
	h = o.AppendUint16(h, 2)
	h = o.AppendUint16(h, minor)
	h = o.AppendUint32(h, 0)
	h = o.AppendUint32(h, 0)
	h = o.AppendUint32(h, maxCapture)
	return o.AppendUint32(h, uint32(link))
}

// write adds a packet as it is.
func (b *builder) write(data []byte) {
	at := start.Add(time.Duration(b.count)*time.Millisecond + b.step)
	b.count++
	h := b.order.AppendUint32(nil, uint32(at.Unix()))
	h = b.order.AppendUint32(h, uint32(at.Nanosecond()/1000))
	h = b.order.AppendUint32(h, uint32(len(data)))
	h = b.order.AppendUint32(h, uint32(len(data)))
	b.file.Write(h)
	b.file.Write(data)
}

// layers adds a packet of gopacket's making.
func (b *builder) layers(l ...gopacket.SerializableLayer) {
	b.t.Helper()
	b.write(serialize(b.t, l...))
}

func serialize(t testing.TB, l ...gopacket.SerializableLayer) []byte {
	t.Helper()
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, l...); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(buf.Bytes())
}

// tcp is a TCP packet between two address:port pairs.
type tcp struct {
	from, to string
	flags    string // of "SARFP"
	seq, ack uint32
	payload  string
}

// tcp adds a TCP packet over Ethernet.
func (b *builder) tcp(p tcp) {
	b.t.Helper()
	from, to := netip.MustParseAddrPort(p.from), netip.MustParseAddrPort(p.to)
	segment := &layers.TCP{
		SrcPort: layers.TCPPort(from.Port()), DstPort: layers.TCPPort(to.Port()), Seq: p.seq, Ack: p.ack, Window: 1024,
	}
	for _, c := range p.flags {
		switch c {
		case 'S':
			segment.SYN = true
		case 'A':
			segment.ACK = true
		case 'R':
			segment.RST = true
		case 'F':
			segment.FIN = true
		case 'P':
			segment.PSH = true
		}
	}
	b.layers(ethernet(from.Addr()), network3(from.Addr(), to.Addr(), layers.IPProtocolTCP), segment, gopacket.Payload(p.payload))
}

func ethernet(a netip.Addr) *layers.Ethernet {
	e := &layers.Ethernet{SrcMAC: make([]byte, 6), DstMAC: make([]byte, 6), EthernetType: layers.EthernetTypeIPv4}
	if a.Is6() {
		e.EthernetType = layers.EthernetTypeIPv6
	}
	return e
}

// network3 is the IP header for a protocol.
func network3(from, to netip.Addr, proto layers.IPProtocol) gopacket.SerializableLayer {
	if from.Is4() {
		return &layers.IPv4{Version: 4, TTL: 64, Protocol: proto, SrcIP: from.AsSlice(), DstIP: to.AsSlice()}
	}
	return &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: proto, SrcIP: from.AsSlice(), DstIP: to.AsSlice()}
}

// events reads all of a capture, cloning what the Reader would take back.
func events(t testing.TB, src io.Reader, o Options) ([]edgeguard.Event, Stats) {
	t.Helper()
	r, err := New(src, "test", o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []edgeguard.Event
	for {
		batch, err := r.Next()
		if err == io.EOF {
			return all, r.Stats()
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(batch) == 0 {
			t.Fatal("Next gave no events and no error")
		}
		for _, ev := range batch {
			ev.Host, ev.Path = string([]byte(ev.Host)), string([]byte(ev.Path))
			ev.Method, ev.Agent = string([]byte(ev.Method)), string([]byte(ev.Agent))
			all = append(all, ev)
		}
	}
}

// read reads what the builder has written.
func (b *builder) read(o Options) ([]edgeguard.Event, Stats) {
	b.t.Helper()
	return events(b.t, bytes.NewReader(b.file.Bytes()), o)
}

// rawLayer puts ready bytes behind other layers.
func rawLayer(b []byte) gopacket.SerializableLayer { return gopacket.Payload(b) }
