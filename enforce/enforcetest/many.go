package enforcetest

import (
	"net/netip"
	"time"

	"edgeguard/enforce"
)

// HundredThousand returns 100,000 entries for benchmarks, a fifth of them IPv6 /64, in
// the order of the contract. Those of another shift are others.
func HundredThousand(shift byte) []enforce.Entry {
	until := time.Now().Add(time.Hour)
	var list []enforce.Entry
	for i := range 80_000 {
		a := netip.AddrFrom4([4]byte{10 + shift, byte(i >> 14), byte(i >> 6), byte(i << 2)})
		list = append(list, enforce.Entry{Prefix: netip.PrefixFrom(a, 32), Until: until})
	}
	for i := range 20_000 {
		a := netip.AddrFrom16([16]byte{0x20, 1, shift, byte(i >> 14), byte(i >> 6), byte(i << 2)})
		list = append(list, enforce.Entry{Prefix: netip.PrefixFrom(a, 64), Until: until})
	}
	return list
}
