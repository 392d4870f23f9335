package imported_test

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"

	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
)

// BenchmarkAsk is what a look-up of an address costs of which the node's own list says
// nothing: with no entry, and with many.
func BenchmarkAsk(b *testing.B) {
	for _, n := range []int{0, 100_000, 1_000_000} {
		s := imported.New(imported.Config{Own: blocklist.New(blocklist.Config{})})
		s.Replace("a", many(n), begin)
		for name, at := range map[string]func(i int) netip.Addr{
			"miss": func(i int) netip.Addr { return netip.AddrFrom4([4]byte{200, byte(i >> 16), byte(i >> 8), byte(i)}) },
			"hit":  func(i int) netip.Addr { return many1(i * 7919 % max(n, 1)) },
		} {
			addrs := make([]netip.Addr, 1<<16)
			for i := range addrs {
				addrs[i] = at(i)
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					s.FindHit(begin, addrs[i&(1<<16-1)])
				}
			})
		}
	}
}

// BenchmarkReplace merges a list for the first time, again without a change, and again
// with 1 % of it lifted, and reports what an entry takes.
func BenchmarkReplace(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		all := many(n)
		b.Run(fmt.Sprintf("first/%d", n), func(b *testing.B) {
			for b.Loop() {
				s := imported.New(imported.Config{Own: blocklist.New(blocklist.Config{})})
				s.Replace("a", all, begin)
			}
		})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := imported.New(imported.Config{Own: blocklist.New(blocklist.Config{})})
		s.Replace("a", all, begin)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.Run(fmt.Sprintf("same/%d", n), func(b *testing.B) {
			for b.Loop() {
				s.Replace("a", all, begin)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "B/entry")
		})
		b.Run(fmt.Sprintf("lifted/%d", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if i%2 == 0 {
					s.Replace("a", all[n/100:], begin)
				} else {
					s.Replace("a", all, begin)
				}
			}
		})
	}
}
