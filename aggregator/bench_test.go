package aggregator

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard/shard"
)

func BenchmarkCount(b *testing.B) {
	op := shard.Op{Addr: visitor, Now: slotOf(boot), Slot: slotOf(boot), Cost: 1}
	for _, c := range []struct {
		name  string
		count uint32
		watch bool
	}{{"visitor", 3, false}, {"visitor-while-another-is-watched", 3, true}, {"suspect", 50, false}} {
		b.Run(c.name, func(b *testing.B) {
			n := newBench(b, nil)
			n.hit(visitor, boot, 3)
			if c.watch {
				n.Watch(Key{Meter: 7, Prefix: netip.MustParsePrefix("203.0.113.99/32")}, boot)
			}
			b.ReportAllocs()
			for b.Loop() {
				n.Count(0, &op, c.count)
			}
		})
	}
}

// BenchmarkCollect is per suspect of 10,000 that have changed.
func BenchmarkCollect(b *testing.B) {
	const keys = 10000
	n := newBench(b, nil)
	for i := range keys {
		n.hit(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), boot, 10)
	}
	now := boot.Add(time.Second)
	b.ReportAllocs()
	for b.Loop() {
		if got := len(n.Collect(now, false)); got != keys {
			b.Fatal(got)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/suspect")
}
