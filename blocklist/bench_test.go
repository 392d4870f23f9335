package blocklist

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"edgeguard"
)

var sizes = []int{1_000, 100_000, 1_000_000}

const probeCount = 1 << 16

// probes returns addresses that are blocked, addresses near blocked ones, and
// addresses of networks in which nothing is. Each is drawn from the whole list,
// so that its cache lines are as cold as the list is large.
func probes(n int) map[string][]netip.Addr {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	kinds := make(map[string][]netip.Addr)
	for range probeCount {
		blocked := host(r.IntN(n)).Addr()
		b := blocked.As4()
		b[0] += 0x80
		kinds["hit"] = append(kinds["hit"], blocked)
		kinds["near"] = append(kinds["near"], host(n+r.IntN(n)).Addr())
		kinds["miss"] = append(kinds["miss"], netip.AddrFrom4(b))
	}
	return kinds
}

// filled makes a list in bulk, as a restart does.
func filled(b *testing.B, n int) *List {
	l := New(Config{Allow: prefixes("192.0.2.0/24"), Protected: prefixes("10.0.0.0/8", "127.0.0.0/8"), Most: 8 * n})
	refused := l.Restore(func(yield func(edgeguard.Block, Trust) bool) {
		for i := range n {
			until := epoch.Add(time.Hour + time.Duration(i%600)*time.Second)
			if !yield(edgeguard.Block{Prefix: host(i), Rule: "site", Reason: "over limit", Origin: "n1", Since: epoch, Until: until, Version: 1}, Trust{}) {
				return
			}
		}
	}, epoch)
	if refused > 0 || l.Len() != n {
		b.Fatalf("%d blocks, %d refused", l.Len(), refused)
	}
	return l
}

// find looks probes up, each independent of the answer before.
func find(b *testing.B, l *List, probes []netip.Addr) {
	for i := 0; b.Loop(); i++ {
		l.Find(epoch, probes[i&(probeCount-1)])
	}
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
		l, kinds := filled(b, n), probes(n)
		for _, kind := range []string{"hit", "near", "miss"} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) { find(b, l, kinds[kind]) })
		}
	}
}

// BenchmarkFindLengths has blocks of all seventeen lengths from /16 to /32, and
// asks for an address near one that none of them covers.
func BenchmarkFindLengths(b *testing.B) {
	l := filled(b, 100_000)
	for length := 16; length < 32; length++ {
		p, _ := netip.AddrFrom4([4]byte{200, byte(length), 255, 0}).Prefix(length)
		blk := edgeguard.Block{Prefix: p, Until: epoch.Add(time.Hour), Version: 1}
		if _, err := l.Merge(blk, epoch); err != nil {
			b.Fatal(err)
		}
	}
	kinds := probes(100_000)
	for _, kind := range []string{"hit", "near", "miss"} {
		b.Run(kind, func(b *testing.B) { find(b, l, kinds[kind]) })
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
		kinds := probes(n)
		for _, kind := range []string{"hit", "near"} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				found := 0
				for i := 0; b.Loop(); i++ {
					mu.RLock()
					blk := m[kinds[kind][i&(probeCount-1)]]
					mu.RUnlock()
					if blk != nil && epoch.Before(blk.Until) {
						found++
					}
				}
			})
		}
	}
}

// BenchmarkMerge adds one more to a full list, and reports how long the single
// Merges took and what a block costs in memory. The longest says more about the
// machine than about the list: BenchmarkClock is the same without a list.
func BenchmarkMerge(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			l := filled(b, n)
			runtime.GC()
			runtime.ReadMemStats(&after)
			var took []time.Duration
			for i := n; b.Loop(); i++ {
				blk := edgeguard.Block{Prefix: host(i), Rule: "site", Until: epoch.Add(time.Hour), Version: 1}
				start := time.Now()
				if _, err := l.Merge(blk, epoch); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			report(b, took)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "B/block")
		})
	}
}

// BenchmarkClock measures nothing as long as one Merge takes, again and again:
// its longest is what the machine takes away.
func BenchmarkClock(b *testing.B) {
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		for time.Since(start) < 10*time.Microsecond {
		}
		took = append(took, time.Since(start))
	}
	report(b, took)
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	micros := func(i int) float64 { return float64(took[min(i, len(took)-1)].Nanoseconds()) / 1000 }
	b.ReportMetric(micros(len(took)/2), "µs-p50")
	b.ReportMetric(micros(len(took)*99/100), "µs-p99")
	b.ReportMetric(micros(len(took)*9999/10000), "µs-p99.99")
	b.ReportMetric(micros(len(took)), "µs-longest")
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
