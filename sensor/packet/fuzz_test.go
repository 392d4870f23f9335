package packet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

func FuzzPcap(f *testing.F) {
	b := newBuilder(f, linkEthernet)
	b.write(udpRecord(f))
	f.Add(b.file.Bytes())
	f.Add(synthesize(3))
	f.Add(pcapFileHeader(binary.BigEndian, magicNano, 3, linkRaw))
	f.Add(pcapFileHeader(binary.LittleEndian, magicModified, 4, linkNull))
	f.Fuzz(func(t *testing.T, file []byte) {
		comparePcap(t, file)
		drain(t, file)
	})
}

func FuzzPcapng(f *testing.F) {
	for _, o := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := &blocks{o: o}
		b.section(1).iface(1, 96, 9, 7).iface(linkRaw, 0, 0x8a, 0).enhanced(0, 1<<60, udpRecord(f)).
			obsolete(1, 5, udpPacket(f, from6, to6, "a")).simple(9, make([]byte, 9)).block(5, make([]byte, 12))
		f.Add(b.file)
		f.Add(b.section(2).enhanced(3, 0, nil).section(1).file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		drain(t, file)
	})
}

// drain reads a file to its end, without goroutines, so that the fuzzer can
// tell what an input reaches.
func drain(t *testing.T, file []byte) {
	src, err := inflate(bytes.NewReader(file))
	if err != nil {
		return
	}
	w := newWindow(src)
	source, err := identify(w)
	if err != nil {
		return
	}
	d, out := newDecoder(Options{Kinds: allKinds}), newBatch()
	events := 0
	var r record
	for err = source.next(&r); err == nil; err = source.next(&r) {
		before := len(out.events)
		d.decode(&r, out)
		for _, ev := range out.events[before:] {
			if !ev.Addr.IsValid() || ev.Addr.Is4In6() || ev.Kind == 0 || ev.Verified&^(ev.Kind&flowKinds) != 0 {
				t.Fatalf("event %+v", ev)
			}
			events++
		}
		if out.full() {
			out.reset()
		}
	}
	var damage *damage
	if err != io.EOF && !errors.As(err, &damage) {
		t.Fatal(err) // all that a file can be is damaged
	}
	s := &d.stats
	notIP := uint64(0)
	for _, n := range s.NotIP {
		notIP += n
	}
	if s.Events != uint64(events) || s.Events+s.Timeless > s.IP || s.IP+s.Malformed+notIP != s.Packets {
		t.Fatalf("%d events, %+v", events, s)
	}
}

func FuzzHeader(f *testing.F) {
	tcp6 := tcpPacket(f, from6, to6, "data")
	for _, b := range [][]byte{
		udpPacket(f, from4, to4, "question"), tcpPacket(f, from4, to4, "data"), tcp6,
		between6(tcp6, protoFragment, make([]byte, 8)...), between6(tcp6, protoAH, ah6()...),
		between6(between6(tcp6, protoDestination, make([]byte, 8)...), protoHopByHop, make([]byte, 8)...),
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 0 {
			compareWithGopacket(t, b, b[0]>>4&2+4)
		}
		for _, link := range []LinkType{linkEthernet, linkCooked, linkCookedTwo, linkNull, linkRaw} {
			if ip, version := network(link, b); version != 0 {
				new(header).parse(ip, version)
			}
		}
	})
}
