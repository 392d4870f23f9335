package packet

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"
	"time"
)

// blocks writes a pcapng.
type blocks struct {
	o    binary.AppendByteOrder
	file []byte
}

func (b *blocks) block(kind uint32, body []byte) *blocks {
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	b.file = b.o.AppendUint32(b.file, kind)
	b.file = b.o.AppendUint32(b.file, uint32(len(body)+12))
	b.file = append(b.file, body...)
	b.file = b.o.AppendUint32(b.file, uint32(len(body)+12))
	return b
}

func (b *blocks) section(major uint16) *blocks {
	body := b.o.AppendUint32(nil, byteOrderMagic)
	body = b.o.AppendUint16(body, major)
	body = b.o.AppendUint16(body, 0)
	return b.block(blockSection, b.o.AppendUint64(body, ^uint64(0)))
}

func (b *blocks) iface(link LinkType, snap uint32, resolution int, offset int64) *blocks {
	return b.block(blockInterface, interfaceBody(b.o, link, snap, resolution, offset))
}

func (b *blocks) enhanced(id uint32, at uint64, data []byte) *blocks {
	body := b.o.AppendUint32(nil, id)
	return b.block(blockEnhanced, b.packet(body, at, data))
}

func (b *blocks) obsolete(id uint16, at uint64, data []byte) *blocks {
	body := b.o.AppendUint16(nil, id)
	body = b.o.AppendUint16(body, 99) // drops
	return b.block(blockPacket, b.packet(body, at, data))
}

func (b *blocks) packet(body []byte, at uint64, data []byte) []byte {
	body = b.o.AppendUint32(body, uint32(at>>32))
	body = b.o.AppendUint32(body, uint32(at))
	body = b.o.AppendUint32(body, uint32(len(data)))
	body = b.o.AppendUint32(body, uint32(len(data)))
	body = append(body, data...)
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	return append(body, 0, 0, 0, 0) // the end of the options, of which there are none
}

func (b *blocks) simple(length uint32, data []byte) *blocks {
	return b.block(blockSimple, append(b.o.AppendUint32(nil, length), data...))
}

func TestPcapng(t *testing.T) {
	ether, raw := udpRecord(t), udpPacket(t, from6, to6, "question")
	micro := uint64(start.UnixMicro())
	cases := []struct {
		name   string
		write  func(*blocks)
		events int
		last   time.Duration // after start
		link   LinkType
	}{
		{"enhanced", func(b *blocks) { b.section(1).iface(1, 0, -1, 0).enhanced(0, micro+5, ether) }, 1, 5 * time.Microsecond, 0},
		{"obsolete", func(b *blocks) { b.section(1).iface(1, 0, -1, 0).obsolete(0, micro+5, ether) }, 1, 5 * time.Microsecond, 0},
		{"simple takes the time before", func(b *blocks) {
			b.section(1).iface(1, 0, -1, 0).enhanced(0, micro+5, ether).simple(uint32(len(ether)), ether)
		}, 2, 5 * time.Microsecond, 0},
		{"simple, cut to the interface's length", func(b *blocks) {
			b.section(1).iface(1, 44, -1, 0).enhanced(0, micro, ether).simple(1500, ether[:44])
		}, 2, 0, 0},
		{"simple without a time before", func(b *blocks) { b.section(1).iface(1, 0, -1, 0).simple(uint32(len(ether)), ether) }, 0, 0, 0},
		{"two interfaces", func(b *blocks) {
			b.section(1).iface(1, 0, -1, 0).iface(linkRaw, 96, 9, 0).enhanced(0, micro, ether).enhanced(1, micro*1000+1, raw)
		}, 2, 1, 0},
		{"a section forgets the interfaces before", func(b *blocks) {
			b.section(1).iface(1, 0, -1, 0).enhanced(0, micro, ether).section(1).iface(linkRaw, 0, 3, 0).enhanced(0, micro/1000+1, raw)
		}, 2, time.Millisecond, 0},
		{"an unknown section is skipped", func(b *blocks) {
			b.section(1).iface(1, 0, -1, 0).enhanced(0, micro, ether).section(2).enhanced(9, 0, ether).section(1).
				iface(1, 0, -1, 0).enhanced(0, micro+1, ether)
		}, 2, time.Microsecond, 0},
		{"other blocks are skipped", func(b *blocks) {
			b.section(1).block(4, []byte("names")).iface(1, 0, -1, 0).block(0x80000bad, make([]byte, 2*windowSize)).
				enhanced(0, micro, ether).block(5, make([]byte, 12))
		}, 1, 0, 0},
		{"other link type", func(b *blocks) { b.section(1).iface(195, 0, -1, 0).enhanced(0, micro, ether) }, 0, 0, 195},
		{"nothing but a section", func(b *blocks) { b.section(1) }, 0, 0, 0},
	}
	for _, c := range cases {
		for _, o := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			t.Run(c.name+" "+o.String(), func(t *testing.T) {
				b := &blocks{o: o}
				c.write(b)
				all, stats := events(t, bytes.NewReader(b.file), Options{})
				if len(all) != c.events || stats.Truncated != "" || !Sniff(b.file) {
					t.Fatalf("got %d events, want %d: %+v", len(all), c.events, stats)
				}
				if c.events > 0 && !all[c.events-1].Time.Equal(start.Add(c.last)) {
					t.Errorf("the last is of %v, want %v", all[c.events-1].Time, start.Add(c.last))
				}
				if c.link != 0 && stats.NotIP[c.link] != 1 {
					t.Errorf("not counted under its link type: %+v", stats)
				}
			})
		}
	}
}

func TestPcapngDamage(t *testing.T) {
	ether := udpRecord(t)
	o := binary.LittleEndian
	head := func() *blocks {
		return (&blocks{o: o}).section(1).iface(1, 0, -1, 0).enhanced(0, uint64(start.UnixMicro()), ether)
	}
	raw := func(words ...uint32) []byte {
		file := head().file
		for _, w := range words {
			file = o.AppendUint32(file, w)
		}
		return file
	}
	claims := func(kind, length uint32) []byte { return append(raw(kind, length), make([]byte, 64)...) }
	cases := []struct {
		name string
		file []byte
		want string
	}{
		{"header cut off", raw(6), "the file ends inside the header of a block"},
		{"block of 4 GB", claims(99, 0xfffffffc), "the file ends inside a block"},
		{"packet of 4 GB", claims(6, 0xfffffffc), "claims 4294967292 bytes, more than"},
		{"interface of 4 GB", claims(1, 0xfffffffc), "claims 4294967292 bytes, more than"},
		{"section of 4 GB", append(raw(blockSection, 0xfffffffc, byteOrderMagic, 1), make([]byte, 64)...), "the file ends inside a block"},
		{"section too short", raw(blockSection, 24, byteOrderMagic, 1, 0, 24), "not at least 28"},
		{"section of no byte order", raw(blockSection, 28, 7, 1, 0, 0, 28), "byte-order magic"},
		{"section cut off", raw(blockSection, 28, byteOrderMagic), "the file ends inside the header of a section"},
		{"length 8", raw(99, 8, 8), "not at least 12"},
		{"length 13", raw(99, 13, 13, 13), "not at least 12 and a multiple of 4"},
		{"lengths differ", raw(99, 16, 0, 20), "two lengths differ: 16 and 20"},
		{"lengths of a packet differ", raw(3, 16, 0, 20), "two lengths differ: 16 and 20"},
		{"packet too short", raw(6, 16, 0, 16), "too short"},
		{"simple packet too short", raw(3, 12, 12), "too short"},
		{"packet longer than its block", raw(6, 32, 0, 0, 0, 4, 4, 32), "claims 4 bytes"},
		{"simple packet longer than its block", raw(3, 16, 9, 16), "claims 9 bytes"},
		{"interface not described", raw(6, 32, 1, 0, 0, 0, 0, 32), "interface 1, which is not described"},
		{"interface too short", raw(1, 16, 0, 16), "interface's block is too short"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all, stats := events(t, bytes.NewReader(c.file), Options{})
			if len(all) != 1 || !strings.Contains(stats.Truncated, c.want) || !strings.HasPrefix(stats.Truncated, "at byte ") {
				t.Errorf("got %d events, %+v; want %q", len(all), stats, c.want)
			}
		})
	}
	_, stats := events(t, bytes.NewReader((&blocks{o: o}).section(1).simple(4, ether[:4]).file), Options{})
	if !strings.Contains(stats.Truncated, "interface 0, which is not described") {
		t.Errorf("simple packet without an interface: %+v", stats)
	}
}

func TestPcapngManyInterfaces(t *testing.T) {
	b := (&blocks{o: binary.LittleEndian}).section(1)
	for range maxInterfaces + 1 {
		b.block(blockInterface, make([]byte, 8))
	}
	if _, stats := events(t, bytes.NewReader(b.file), Options{}); !strings.Contains(stats.Truncated, "more than 65536 interfaces") {
		t.Errorf("%+v", stats)
	}
}

// A file of 80 bytes that claims gigabytes in each place that has a length.
func TestSmallFileClaimsMuch(t *testing.T) {
	o := binary.LittleEndian
	for _, kind := range []uint32{blockSection, blockInterface, blockPacket, blockSimple, blockEnhanced, 4, 5, 10, 0xbad} {
		file := (&blocks{o: o}).section(1).iface(1, 0, -1, 0).file
		file = o.AppendUint32(file, kind)
		file = o.AppendUint32(file, 0xfffffffc)
		file = o.AppendUint32(file, byteOrderMagic)
		for range 6 {
			file = o.AppendUint32(file, 0xffffffff)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := New(bytes.NewReader(file), "x", Options{})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = r.Next()
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got >= 1<<20 || r.Stats().Truncated == "" {
			t.Errorf("block %x: %d bytes allocated, %+v", kind, got, r.Stats())
		}
	}
}
