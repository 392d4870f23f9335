package packet

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestInterfaceTime(t *testing.T) {
	cases := []struct {
		name       string
		resolution int // -1: not given
		offset     int64
		count      uint64
		sec, nsec  int64
	}{
		{"microseconds unless told", -1, 0, 1700000000_123456, 1700000000, 123456000},
		{"seconds", 0, 0, 1700000000, 1700000000, 0},
		{"milliseconds", 3, 0, 1700000000_123, 1700000000, 123000000},
		{"nanoseconds", 9, 0, 1700000000_123456789, 1700000000, 123456789},
		{"picoseconds", 12, 0, 1_000000000_750, 1, 0},
		{"10^-19 s", 19, 0, 15 * 1e17, 0, 150000000},
		{"halves", 0x81, 0, 3, 1, 500000000},
		{"2^-10 s", 0x8a, 0, 1024*1700000000 + 512, 1700000000, 500000000},
		{"2^-63 s", 0xbf, 0, 1<<63 + 1<<62, 1, 500000000},
		{"offset", 9, 1600000000, 100000000_000000001, 1700000000, 1},
		{"offset before the epoch", -1, -10, 12_000000, 2, 0},
	}
	for _, c := range cases {
		for _, o := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			t.Run(c.name, func(t *testing.T) {
				i, reason := parseInterface(order{swapped: o == binary.BigEndian}, interfaceBody(o, 1, 0, c.resolution, c.offset))
				if reason != "" {
					t.Fatal(reason)
				}
				if sec, nsec := i.time(c.count); sec != c.sec || nsec != c.nsec {
					t.Errorf("got %d.%09d, want %d.%09d", sec, nsec, c.sec, c.nsec)
				}
			})
		}
	}
}

// interfaceBody is an interface's block without its lengths.
func interfaceBody(o binary.AppendByteOrder, link LinkType, snap uint32, resolution int, offset int64) []byte {
	b := o.AppendUint16(nil, uint16(link))
	b = o.AppendUint16(b, 0)
	b = o.AppendUint32(b, snap)
	b = o.AppendUint16(b, 2) // a name, to be skipped
	b = o.AppendUint16(b, 4)
	b = append(b, "eth0"...)
	if resolution >= 0 {
		b = o.AppendUint16(b, optionResolution)
		b = o.AppendUint16(b, 1)
		b = append(b, byte(resolution), 0, 0, 0)
	}
	if offset != 0 {
		b = o.AppendUint16(b, optionOffset)
		b = o.AppendUint16(b, 8)
		b = o.AppendUint64(b, uint64(offset))
	}
	return o.AppendUint32(b, 0)
}

func TestInterfaceTimeAgainstBig(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 20000 {
		resolution := byte(random.IntN(20))
		units := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(resolution)), nil)
		if random.IntN(2) == 0 {
			shift := byte(random.IntN(64))
			resolution = 0x80 | shift
			units = new(big.Int).Lsh(big.NewInt(1), uint(shift))
		}
		count := random.Uint64() >> random.IntN(64)
		var i iface
		if !i.resolve(resolution) {
			t.Fatalf("resolution %x refused", resolution)
		}
		sec, nsec := i.time(count)
		all := new(big.Int).Mul(new(big.Int).SetUint64(count), big.NewInt(1e9))
		want, part := new(big.Int).DivMod(all.Div(all, units), big.NewInt(1e9), new(big.Int))
		if uint64(sec) != want.Uint64() || nsec != part.Int64() {
			t.Fatalf("resolution %x, count %d: got %d.%09d, want %v.%09v", resolution, count, sec, nsec, want, part)
		}
	}
}

func TestInterfaceRefused(t *testing.T) {
	o := binary.LittleEndian
	for name, b := range map[string][]byte{
		"short":               {1, 0, 0, 0},
		"too fine, decimal":   interfaceBody(o, 1, 0, 20, 0),
		"too fine, binary":    interfaceBody(o, 1, 0, 0xc0, 0),
		"option past the end": {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 9, 0, 'e', 't', 'h', 0},
		"option of 65535":     {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 255, 255},
	} {
		if _, reason := parseInterface(order{}, b); reason == "" {
			t.Errorf("%s: not refused", name)
		}
	}
}
