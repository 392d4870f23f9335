package detector

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
)

// What clients were spared is never forgotten, whoever else fails meanwhile: of some, exact
// sums beside what is added up say so. Few sums are too high.
func TestSparedForgetsNobody(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := spared{seed: random.Uint64()}
	var exact [3]map[netip.Addr]uint32
	high, of := 0, 0
	for day := range exact {
		exact[day] = make(map[netip.Addr]uint32)
		for range 40_000 {
			addr := netip.AddrFrom4([4]byte{20, 1, byte(random.IntN(12)), byte(random.IntN(256))})
			if random.IntN(2) > 0 { // one of a million homes
				var b [16]byte
				binary.BigEndian.PutUint32(b[4:], uint32(random.IntN(1<<20)))
				b[0], b[15] = 0x20, 1
				addr = netip.AddrFrom16(b)
			}
			n := uint32(1 + random.IntN(400))
			s.of(addr, uint32(day)*sparedDay)
			s.add(addr, n)
			exact[day][addr] += n
		}
		for addr, sum := range exact[day] {
			if day > 0 {
				sum += exact[day-1][addr]
			}
			got := s.of(addr, uint32(day)*sparedDay+sparedDay-1)
			if got < sum {
				t.Fatalf("day %d: %s was spared %d, and %d are known", day, addr, sum, got)
			}
			if of++; got > sum+sparedUnit {
				high++
			}
		}
	}
	if high*1000 > of {
		t.Errorf("of %d sums %d are a limit too high", of, high)
	}
	if got := s.of(netip.MustParseAddr("20.1.1.1"), uint32(len(exact)+1)*sparedDay); got != 0 {
		t.Errorf("after a day of nothing %d are known", got)
	}
}
