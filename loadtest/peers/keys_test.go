package peers

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
)

// keyCount is how many addresses every table holds.
const keyCount = 1 << 20

// address returns the n-th of the keys; neighbours in n are far apart.
func address(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n*0x9e3779b1)
	return netip.AddrFrom4(b)
}

// uniform draws keys, each as likely as any other: xorshift64* (Vigna, 2016),
// three nanoseconds a key, so that the draw does not hide the table.
type uniform uint64

func (u *uniform) next() uint32 {
	x := *u
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*u = x
	return uint32(uint64(x) * 0x2545f4914f6cdd1d >> 44) // the upper 20 bits
}

// skewed draws keys by Zipf's law (s = 1.1). They are drawn beforehand, since
// one draw costs as much as a decision, and read in order.
type skewed struct {
	keys []uint32
	at   int
}

func newSkewed() *skewed {
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 3)), 1.1, 1, keyCount-1)
	s := &skewed{keys: make([]uint32, 1<<21)}
	for i := range s.keys {
		s.keys[i] = uint32(z.Uint64())
	}
	return s
}

func (s *skewed) next() uint32 {
	s.at = (s.at + 1) & (len(s.keys) - 1)
	return s.keys[s.at]
}
