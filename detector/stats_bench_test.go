package detector

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
	"testing"
	"unsafe"

	"edgeguard"
)

// stripes are the counters divided by address, with no cache line shared by two.
type stripes [64]struct {
	counters
	_ [128 - unsafe.Sizeof(counters{})%128]byte // processors fetch lines in pairs
}

func (s *stripes) of(addr netip.Addr) *counters {
	b := addr.As16()
	h := binary.LittleEndian.Uint64(b[:8]) ^ binary.LittleEndian.Uint64(b[8:])*0x9e3779b97f4a7c15
	return &s[h*0xff51afd7ed558ccd>>58].counters
}

// BenchmarkCounters is ADR 18: a decision is counted on counters that all
// decisions share, or on those of its address. The sample is left out of both.
func BenchmarkCounters(b *testing.B) {
	stripes, shared := new(stripes), new(statistics)
	for _, way := range []struct {
		name string
		add  func(netip.Addr) uint64
	}{
		{"stripes", func(addr netip.Addr) uint64 { return stripes.of(addr).actions[edgeguard.ActionPass].Add(1) }},
		{"shared", func(netip.Addr) uint64 { return shared.actions[edgeguard.ActionPass].Add(1) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			var goroutines atomic.Uint64
			b.RunParallel(func(pb *testing.PB) {
				state := goroutines.Add(1) * 0x9e3779b97f4a7c15
				addr := [4]byte{10, 0}
				for pb.Next() {
					state ^= state << 13
					state ^= state >> 7
					state ^= state << 17
					binary.BigEndian.PutUint16(addr[2:], uint16(state>>40))
					way.add(netip.AddrFrom4(addr))
				}
			})
		})
	}
}
