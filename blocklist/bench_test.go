package blocklist

import (
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"edgeguard"
)

var sizes = []int{100_000, 1_000_000}

// misses are addresses of which none is blocked, hits all are.
func probes(n int) (hits, misses []netip.Addr) {
	for i := range 1 << 16 {
		hits = append(hits, host((i*7919)%n).Addr())
		misses = append(misses, host(n+i*31).Addr())
	}
	return hits, misses
}

func filled(b *testing.B, n int) *List {
	l := New(Config{Allow: prefixes("192.0.2.0/24"), Protected: prefixes("10.0.0.0/8", "127.0.0.0/8")})
	fill(b, l, n, func(i int) time.Time { return epoch.Add(time.Hour + time.Duration(i%600)*time.Second) })
	return l
}

func BenchmarkFind(b *testing.B) {
	b.Run("empty", func(b *testing.B) {
		l := New(Config{})
		a := netip.MustParseAddr("203.0.113.9")
		for b.Loop() {
			l.Find(epoch, a)
		}
	})
	for _, n := range sizes {
		l := filled(b, n)
		hits, misses := probes(n)
		for name, list := range map[string][]netip.Addr{"hit": hits, "miss": misses} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				found := 0
				for i := 0; b.Loop(); i++ {
					if s, _ := l.Find(epoch, list[i&(1<<16-1)]); s == Blocked {
						found++
					}
				}
			})
		}
	}
}

// BenchmarkFindMap is the obvious peer: a map of exact addresses behind a
// read lock, which knows no prefixes at all.
func BenchmarkFindMap(b *testing.B) {
	for _, n := range sizes {
		var mu sync.RWMutex
		m := make(map[netip.Addr]*edgeguard.Block, n)
		for i := range n {
			m[host(i).Addr()] = &edgeguard.Block{Prefix: host(i), Until: epoch.Add(time.Hour)}
		}
		hits, misses := probes(n)
		for name, list := range map[string][]netip.Addr{"hit": hits, "miss": misses} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				found := 0
				for i := 0; b.Loop(); i++ {
					mu.RLock()
					blk := m[list[i&(1<<16-1)]]
					mu.RUnlock()
					if blk != nil && epoch.Before(blk.Until) {
						found++
					}
				}
			})
		}
	}
}

// BenchmarkMerge adds one more to a full list, and reports the longest single
// Merge and what a block costs in memory.
func BenchmarkMerge(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			l := filled(b, n)
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "B/block")
			var longest time.Duration
			for i := n; b.Loop(); i++ {
				blk := edgeguard.Block{Prefix: host(i), Rule: "site", Until: epoch.Add(time.Hour), Version: 1}
				start := time.Now()
				if _, err := l.Merge(blk, epoch); err != nil {
					b.Fatal(err)
				}
				longest = max(longest, time.Since(start))
			}
			b.ReportMetric(float64(longest.Microseconds()), "µs-longest")
		})
	}
}

// BenchmarkSweep ends blocks that are all over at once, a step at a time.
func BenchmarkSweep(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		l := New(Config{})
		fill(b, l, SweepStep, func(int) time.Time { return epoch.Add(time.Second) })
		b.StartTimer()
		if l.Sweep(epoch.Add(time.Second)) != SweepStep {
			b.Fatal("not swept")
		}
	}
}
