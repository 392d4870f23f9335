package packet

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestPcapVariants(t *testing.T) {
	data := udpRecord(t)
	cases := []struct {
		name     string
		magic    uint32
		minor    uint16
		link     uint32
		fraction uint32
		header   []uint32 // instead of the two lengths
		want     time.Duration
	}{
		{"microseconds", magicMicro, 4, 1, 250000, nil, 250 * time.Millisecond},
		{"nanoseconds", magicNano, 4, 1, 250000, nil, 250 * time.Microsecond},
		{"modified", magicModified, 4, 1, 1, []uint32{uint32(len(data)), uint32(len(data)), 2, 0}, time.Microsecond},
		{"frame check length in the link type", magicMicro, 4, 0xf4000001, 7, nil, 7 * time.Microsecond},
		{"lengths exchanged", magicMicro, 3, 1, 0, []uint32{1500, uint32(len(data))}, 0},
		{"lengths not exchanged", magicMicro, 3, 1, 0, []uint32{uint32(len(data)), 1500}, 0},
		{"fraction over a second", magicMicro, 4, 1, 4_500_000, nil, 4500 * time.Millisecond},
	}
	for _, c := range cases {
		for _, o := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			t.Run(c.name+" "+o.String(), func(t *testing.T) {
				file := pcapFileHeader(o, c.magic, c.minor, LinkType(c.link))
				for range 3 {
					file = o.AppendUint32(file, uint32(start.Unix()))
					file = o.AppendUint32(file, c.fraction)
					lengths := c.header
					if lengths == nil {
						lengths = []uint32{uint32(len(data)), uint32(len(data))}
					}
					for _, v := range lengths {
						file = o.AppendUint32(file, v)
					}
					file = append(file, data...)
				}
				all, stats := events(t, bytes.NewReader(file), Options{})
				if len(all) != 3 || stats.Truncated != "" || !Sniff(file) {
					t.Fatalf("got %d events, %+v", len(all), stats)
				}
				if want := start.Add(c.want); !all[2].Time.Equal(want) {
					t.Errorf("got %v, want %v", all[2].Time, want)
				}
			})
		}
	}
}

func udpRecord(t testing.TB) []byte {
	return serialize(t, ethernet(from4), rawLayer(udpPacket(t, from4, to4, "question")))
}

func TestPcapDamage(t *testing.T) {
	good := newBuilder(t, linkEthernet)
	good.write(udpRecord(t))
	whole := good.file.Bytes()
	long := append(bytes.Clone(whole), 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0, 1, 0, 4, 0)
	cases := []struct {
		name string
		file []byte
		want string // in Stats.Truncated
	}{
		{"cut off in the header of a packet", append(bytes.Clone(whole), 1, 2, 3), "at byte 100: the file ends inside the header of a packet"},
		{"cut off in a packet", append(bytes.Clone(whole), whole[24:len(whole)-1]...), "at byte 100: the file ends inside a packet"},
		{"longer than any packet", long, "at byte 100: a packet claims 262145 bytes, more than 262144"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all, stats := events(t, bytes.NewReader(c.file), Options{})
			if len(all) != 1 || stats.Packets != 1 || stats.Truncated != c.want {
				t.Errorf("got %d events, %+v", len(all), stats)
			}
		})
	}
	if _, err := New(bytes.NewReader(whole[:20]), "x", Options{}); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("header cut off: %v", err)
	}
	old := bytes.Clone(whole)
	old[4] = 1
	if _, err := New(bytes.NewReader(old), "x", Options{}); err == nil || !strings.Contains(err.Error(), "version 1.4") {
		t.Errorf("old version: %v", err)
	}
}

// The longest packet that is read, at every place in the window.
func TestPcapLongest(t *testing.T) {
	b := newBuilder(t, 147)
	b.write(make([]byte, 17))
	for range 4 {
		b.write(make([]byte, maxCapture))
	}
	if _, stats := b.read(Options{}); stats.Packets != 5 || stats.Truncated != "" || stats.NotIP[147] != 5 {
		t.Errorf("%+v", stats)
	}
}

// slowPcap is the format read the plain way: the times and packets up to what
// cannot be read, and whether that is the end.
func slowPcap(file []byte) (times []time.Time, packets [][]byte, ended bool) {
	var o binary.ByteOrder = binary.LittleEndian
	if file[0] == 0xa1 {
		o = binary.BigEndian
	}
	magic, old := o.Uint32(file), o.Uint16(file[4:]) == 2 && o.Uint16(file[6:]) <= 3
	for file = file[24:]; len(file) > 0; {
		var head [6]uint32
		size := 16
		if magic == magicModified {
			size = 24
		}
		if len(file) < size {
			return times, packets, false
		}
		for i := range size / 4 {
			head[i] = o.Uint32(file[4*i:])
		}
		length := head[2]
		if old && head[3] < length {
			length = head[3]
		}
		if length > 262144 || int(length) > len(file)-size {
			return times, packets, false
		}
		unit := time.Microsecond
		if magic == magicNano {
			unit = time.Nanosecond
		}
		times = append(times, time.Unix(int64(head[0]), 0).Add(time.Duration(head[1])*unit))
		packets = append(packets, file[size:size+int(length)])
		file = file[size+int(length):]
	}
	return times, packets, true
}

// comparePcap holds the walk over a pcap against the plain way.
func comparePcap(t *testing.T, file []byte) {
	t.Helper()
	if sniff(file) != formatPcap {
		return
	}
	p, err := openPcap(newWindow(bytes.NewReader(file)))
	if err != nil {
		return // cut off, or an old version
	}
	times, packets, ended := slowPcap(file)
	var r record
	for i := range packets {
		if err := p.next(&r); err != nil {
			t.Fatalf("packet %d of %d: %v", i, len(packets), err)
		}
		if at := time.Unix(r.sec, r.nsec); !bytes.Equal(packets[i], r.data) || !at.Equal(times[i]) {
			t.Fatalf("packet %d: got %v and %d bytes, want %v and %d", i, at, len(r.data), times[i], len(packets[i]))
		}
	}
	if err := p.next(&r); (err == io.EOF) != ended || err == nil {
		t.Fatalf("after %d packets: %v, want the end: %v", len(packets), err, ended)
	}
}

func TestPcapAgainstThePlainWay(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		b := newBuilder(t, linkEthernet)
		for range random.IntN(50) {
			b.write(make([]byte, random.IntN(2000)))
		}
		file := b.file.Bytes()
		for range random.IntN(3) {
			file[random.IntN(len(file))] = byte(random.Uint32())
		}
		comparePcap(t, file[:len(file)-random.IntN(20)])
	}
}
