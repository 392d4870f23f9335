package traffic

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// mix is what a reader that is not ours finds in a capture.
type mix struct{ packets, v6, udp, syn, long int }

func readCapture(t *testing.T, c Capture) mix {
	t.Helper()
	var file bytes.Buffer
	if err := c.Write(&file); err != nil {
		t.Fatal(err)
	}
	data := file.Bytes()
	if link := binary.LittleEndian.Uint32(data[20:]); link != uint32(layers.LinkTypeEthernet) {
		t.Fatalf("link type %d", link)
	}
	var m mix
	last := uint64(0)
	for data = data[24:]; len(data) > 0; {
		at := uint64(binary.LittleEndian.Uint32(data))<<32 | uint64(binary.LittleEndian.Uint32(data[4:]))
		if at < last {
			t.Fatalf("packet %d goes back in time", m.packets)
		}
		last = at
		n := binary.LittleEndian.Uint32(data[8:])
		m.count(t, data[16:16+n])
		data = data[16+n:]
	}
	return m
}

func (m *mix) count(t *testing.T, data []byte) {
	packet := gopacket.NewPacket(data, layers.LinkTypeEthernet, gopacket.NoCopy)
	if problem := packet.ErrorLayer(); problem != nil {
		t.Fatalf("packet %d: %v", m.packets, problem.Error())
	}
	m.packets++
	if len(data) >= 200 {
		m.long++
	}
	switch ip := packet.NetworkLayer().(type) {
	case *layers.IPv4:
		if !sumsToZero(ip.Contents) {
			t.Fatalf("packet %d: wrong header checksum", m.packets)
		}
	case *layers.IPv6:
		m.v6++
	default:
		t.Fatalf("packet %d has no IP layer", m.packets)
	}
	switch transport := packet.TransportLayer().(type) {
	case *layers.TCP:
		if transport.SYN {
			m.syn++
		}
	case *layers.UDP:
		m.udp++
	default:
		t.Fatalf("packet %d has no transport layer", m.packets)
	}
}

// sumsToZero is the receiver's check of RFC 791.
func sumsToZero(header []byte) bool {
	sum := uint32(0)
	for i := 0; i < len(header); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	return sum>>16+sum&0xffff == 0xffff
}

func TestCaptureIsWhatItSays(t *testing.T) {
	const n = 20_000
	m := readCapture(t, Capture{Packets: n, Sources: 2000, Rate: 3000, Seed: 1})
	for _, tt := range []struct {
		name           string
		got, low, high int
	}{
		{"packets", m.packets, n, n},
		{"IPv6", m.v6, n / 50, n / 5},
		{"UDP", m.udp, n / 6, n / 4},
		{"SYN", m.syn, n / 6, n / 3},
		{"long", m.long, n / 12, n / 8},
	} {
		if tt.got < tt.low || tt.got > tt.high {
			t.Errorf("%s: %d, want %d to %d", tt.name, tt.got, tt.low, tt.high)
		}
	}
}

func TestCaptureIsAFunctionOfItsSeed(t *testing.T) {
	var first, again, other bytes.Buffer
	for seed, out := range map[uint64]*bytes.Buffer{1: &first, 2: &other} {
		if err := (Capture{Packets: 300, Seed: seed}).Write(out); err != nil {
			t.Fatal(err)
		}
	}
	if err := (Capture{Packets: 300, Seed: 1}).Write(&again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), again.Bytes()) || bytes.Equal(first.Bytes(), other.Bytes()) {
		t.Error("the bytes must follow the seed, and nothing else")
	}
}
