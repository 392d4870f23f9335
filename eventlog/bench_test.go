package eventlog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// full returns a log whose blocks' section has a number of entries over 30 days, and an address
// that has three of them. Bodies are as long as a block's.
func full(b *testing.B, size int64, entries int) (*Log, netip.Prefix) {
	b.Helper()
	l := opened(b, filepath.Join(b.TempDir(), "events"), size, 2*month)
	r, now := rand.New(rand.NewPCG(1, 2)), noon
	body := make([]byte, 150)
	one := netip.MustParsePrefix("203.0.113.9/32")
	for i := range entries {
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(1 + r.IntN(200)), byte(r.IntN(256)), byte(r.IntN(256)), byte(r.IntN(256))}), 32)
		if i%(entries/3) == entries/6 {
			p = one
		}
		l.Add(Blocks, Entry{Time: now, Kind: "block", Rule: "web/scripts", Prefixes: []netip.Prefix{p}, Body: body})
		now = now.Add(month / time.Duration(entries))
		if i%4096 == 0 {
			if err := l.Flush(now); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := l.Flush(now); err != nil {
		b.Fatal(err)
	}
	return l, one
}

// What a look for an address and for a minute costs at a log that is as full as its default
// allows, and at one of a million entries; and the memory that the log itself takes.
func BenchmarkFind(b *testing.B) {
	for _, c := range []struct {
		size    int64
		entries int
	}{{64 << 20, 190_000}, {420 << 20, 1_000_000}} {
		l, one := full(b, c.size, c.entries)
		b.Run(fmt.Sprintf("entries=%d/address", c.entries), func(b *testing.B) {
			for b.Loop() {
				if n := count(l, Query{Within: one}); n != 3 {
					b.Fatalf("%d found", n)
				}
			}
			inMS(b)
		})
		b.Run(fmt.Sprintf("entries=%d/network", c.entries), func(b *testing.B) {
			for b.Loop() {
				if n := count(l, Query{Within: netip.MustParsePrefix("203.0.113.0/24")}); n < 3 {
					b.Fatalf("%d found", n)
				}
			}
			inMS(b)
		})
		b.Run(fmt.Sprintf("entries=%d/minute", c.entries), func(b *testing.B) {
			since := noon.Add(month / 2)
			for b.Loop() {
				if n := count(l, Query{Since: since, Until: since.Add(time.Minute)}); n == 0 {
					b.Fatal("none found")
				}
			}
			inMS(b)
		})
		b.Run(fmt.Sprintf("entries=%d/heap", c.entries), func(b *testing.B) {
			var with, without runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&with)
				again := opened(b, l.config.Folder, c.size, 2*month)
				runtime.GC()
				runtime.ReadMemStats(&without)
				if again.Bytes() == 0 {
					b.Fatal("empty")
				}
			}
			b.ReportMetric(float64(int64(without.HeapAlloc)-int64(with.HeapAlloc))/(1<<20), "MiB")
		})
	}
}

// inMS says how long a look took in milliseconds.
func inMS(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms")
}

func count(l *Log, q Query) (n int) {
	for range l.Find(context.Background(), q) {
		n++
	}
	return n
}

// What the handing over of a crossing costs.
func BenchmarkAdd(b *testing.B) {
	l := New(Config{})
	e := Entry{Time: noon, Kind: "crossing", Rule: "site", Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.9/32")}, Body: make([]byte, 150)}
	b.ReportAllocs()
	for b.Loop() {
		l.Add(Crossings, e)
	}
}
