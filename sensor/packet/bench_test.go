package packet

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"edgeguard"
)

// synthesize returns a pcap of n packets: TCP ACKs over Ethernet from a million
// addresses, 74 bytes each, 8 microseconds apart.
func synthesize(n int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, magicMicro)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
	packet := make([]byte, 74)
	packet[12], packet[14], packet[17], packet[23] = 8, 0x45, 60, protoTCP
	packet[46], packet[47] = 0x80, flagACK
	for i := range n {
		at := uint32(i * 8)
		b = binary.LittleEndian.AppendUint32(b, 1700000000+at/1000000)
		b = binary.LittleEndian.AppendUint32(b, at%1000000)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(packet)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(packet)))
		binary.BigEndian.PutUint32(packet[26:], 0x0a000000+uint32(i)*2654435761>>12)
		b = append(b, packet...)
	}
	return b
}

// BenchmarkDecode is the work of one core: the walk over the records and the
// headers, without the hand-over.
func BenchmarkDecode(b *testing.B) {
	const n = 100000
	file := synthesize(n)
	for _, c := range []struct {
		name  string
		kinds edgeguard.Kind
	}{{"packet", edgeguard.KindPacket}, {"all", allKinds}} {
		b.Run(c.name, func(b *testing.B) {
			d := newDecoder(Options{Kinds: c.kinds})
			out := newBatch()
			src := bytes.NewReader(file)
			w := newWindow(src)
			b.ReportAllocs()
			for b.Loop() {
				src.Reset(file)
				*w = window{src: src, buf: w.buf, idle: w.idle}
				p, err := openPcap(w)
				if err != nil {
					b.Fatal(err)
				}
				var r record
				for p.next(&r) == nil {
					d.decode(&r, out)
					if out.full() {
						out.reset()
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/packet")
		})
	}
}

// BenchmarkReader is the whole of it: two goroutines and the hand-over, with
// nothing done about the events.
func BenchmarkReader(b *testing.B) {
	const n = 1000000
	file := synthesize(n)
	b.ReportAllocs()
	for b.Loop() {
		r, err := New(bytes.NewReader(file), "synthesized", Options{Kinds: edgeguard.KindPacket})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/packet")
}
