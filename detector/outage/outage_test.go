package outage

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

// v4 returns the n-th address of the i-th /24.
func v4(i, n int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(i*256+n)+0x0b000000)
	return netip.AddrFrom4(b)
}

// v6 returns an address of the i-th /48.
func v6(i int) netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], 0x2a02<<48|uint64(i)<<16|7)
	return netip.AddrFrom16(b)
}

const noon = 1_764_244_800

// BenchmarkSee has a healthy site's answers: 256 visitors, again and again in a step, after a
// half hour of thousands. The driver alone is measured with them.
func BenchmarkSee(b *testing.B) {
	for _, run := range []struct {
		name string
		addr func(i int) netip.Addr
		ok   bool
		call bool
		bits int // 1<<bits answers in a second
	}{
		{"driver", func(i int) netip.Addr { return v4(i*7, i) }, true, false, 20},
		{"ipv4", func(i int) netip.Addr { return v4(i*7, i) }, true, true, 20},
		{"ipv6", v6, true, true, 20},
		{"stranger-fails", func(i int) netip.Addr { return v4(i*7+70000, i) }, false, true, 20},
		{"first-of-a-step", func(i int) netip.Addr { return v4(i*7, i) }, true, true, 5},
	} {
		b.Run(run.name, func(b *testing.B) {
			g, addrs := New(7), [256]netip.Addr{}
			for i := range 1500 {
				g.CountAnswer(1, noon, v4(i, 1), true)
			}
			for i := range addrs {
				addrs[i] = run.addr(i)
			}
			b.ReportAllocs()
			for i := range b.N {
				addr := addrs[i&255]
				if run.call {
					g.CountAnswer(1, noon+uint32(i>>run.bits), addr, run.ok)
				}
			}
		})
	}
}
