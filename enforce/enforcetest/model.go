package enforcetest

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"edgeguard/enforce"
)

// model is what should be installed, the slow way.
type model map[netip.Prefix]bool

func (m model) denies(addr netip.Addr) bool {
	for p := range m {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// prefixes returns the model in the order of the contract: by address, the wider
// first.
func (m model) prefixes() []netip.Prefix {
	return slices.SortedFunc(maps.Keys(m), func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), a.Bits()-b.Bits())
	})
}

func (m model) entries(until time.Time) []enforce.Entry {
	var entries []enforce.Entry
	for _, p := range m.prefixes() {
		entries = append(entries, enforce.Entry{Prefix: p, Until: until})
	}
	return entries
}

// model makes up to n prefixes that crowd together, so that they nest and
// touch.
func (d *dice) model(n int) model {
	m := make(model)
	for range d.IntN(n + 1) {
		m[d.prefix()] = true
	}
	return m
}

func (d *dice) prefix() netip.Prefix {
	addr, bits := d.addr()
	p, err := addr.Prefix(bits)
	if err != nil {
		panic(err) // bits come with the address
	}
	return p
}

// addr returns an address of documentation space and a length for a prefix of
// it.
func (d *dice) addr() (netip.Addr, int) {
	low := byte(d.IntN(16))
	if d.IntN(2) == 0 {
		return netip.AddrFrom4([4]byte{198, 51, byte(100 + d.IntN(2)), low}), 22 + d.IntN(11)
	}
	a := [16]byte{0x20, 0x01, 0x0d, 0xb8, 7: byte(d.IntN(4)), 15: low}
	return netip.AddrFrom16(a), []int{60, 63, 64, 64, 64, 124, 127, 128}[d.IntN(8)]
}

// near returns an address in or beside what is installed.
func (d *dice) near(m model) netip.Addr {
	addr, _ := d.addr()
	for _, p := range m.prefixes() {
		switch d.IntN(6) {
		case 0:
			return p.Addr()
		case 1:
			return p.Addr().Prev()
		case 2:
			return addr
		}
	}
	return addr
}
