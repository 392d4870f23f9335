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

const noon = 1_764_244_800

func BenchmarkSee(b *testing.B) {
	g := New(7)
	addrs := make([]netip.Addr, 256)
	for i := range addrs {
		addrs[i] = v4(i*7, i)
	}
	sec := uint32(noon)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%10_000 == 0 {
			sec++
		}
		g.See(1, sec, addrs[i%len(addrs)], true)
	}
}

// site is a site with visitors, each in a network of his own, who ask every period seconds.
type site struct {
	g        *Guard
	scope    uint8
	visitors int
	period   int
	armed    []uint32 // the seconds at which it became armed or not, in turn
}

func newSite(visitors, period int) *site {
	s := &site{g: New(7), visitors: visitors, period: period}
	s.g.Armed = func(_ uint8, sec uint32) { s.armed = append(s.armed, sec) }
	s.g.Disarmed = s.g.Armed
	return s
}

func (s *site) run(from, to uint32, ok bool) (held int) {
	for sec := from; sec < to; sec++ {
		for i := range s.visitors {
			if (int(sec)+i*13)%s.period == 0 && s.g.See(s.scope, sec, v4(i, 1), ok) {
				held++
			}
		}
	}
	return held
}

func TestDeploy(t *testing.T) {
	s := newSite(300, 30)
	s.run(noon, noon+2400, true)
	held := s.run(noon+2405, noon+2585, false)
	s.run(noon+2585, noon+3000, true)
	t.Log(held, s.armed, noon+2405, noon+2585)
}
