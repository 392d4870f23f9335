package shard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"
)

// mix adds keys as traffic does: nine of ten have up to four events, the
// tenth 5 to 255, log-uniform, each in a random slot of one window.
func mix(r *rand.Rand) int {
	if r.IntN(10) > 0 {
		return 1 + r.IntN(4)
	}
	return int(math.Exp(math.Log(5) + r.Float64()*math.Log(256.0/5)))
}

// dense returns every key a ring.
func dense(*rand.Rand) int { return 8 }

// BenchmarkMemory grows tables to 14 M keys and reports the mean of bytes a
// key, all told, from 7 M on: one whole doubling, so that no point between two
// splits is favoured. Run it with -benchtime 1x.
func BenchmarkMemory(b *testing.B) {
	for _, bench := range []struct {
		name   string
		config Config
		v6     bool
		events func(*rand.Rand) int
	}{
		{"mix/v4", Config{}, false, mix},
		{"mix/v6", Config{}, true, mix},
		{"mix/16-byte", Config{V6: 128}, true, mix},
		{"mix/v4+attributes", Config{With: true}, false, mix},
		{"dense/v4", Config{}, false, dense},
		{"dense/v6", Config{}, true, dense},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				grow(b, New(hugeMemory(b, 8<<30), bench.config), bench.v6, bench.events)
			}
		})
	}
}

func grow(b *testing.B, t *Table, v6 bool, events func(*rand.Rand) int) {
	const from, to, step = 7_000_000, 14_000_000, 100_000
	r := rand.New(rand.NewPCG(1, 1))
	var ops []Op
	out := make([]Count, 1024)
	var sum float64
	for i := range uint32(to) {
		addr := spread(i)
		if v6 {
			a := addr.As4()
			addr = v6Of(a)
		}
		for range events(r) {
			ops = append(ops, Op{Addr: addr, Now: 1059, Slot: 1000 + r.Uint32N(60), Cost: 1})
		}
		for len(ops) >= batchSize {
			t.AddBatch(ops[:batchSize], out)
			ops = ops[:copy(ops, ops[batchSize:])]
		}
		if i >= from && i%step == 0 {
			sum += float64(t.halves[v4].mem.Stats().Used) / float64(i)
		}
	}
	s := t.Stats()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(sum/((to-from)/step), "B/key")
	b.ReportMetric(float64(s.Rings)/float64(s.Keys), "rings/key")
	t.Close()
}

// BenchmarkLive is 10 M keys in the Go heap: how long a forced collection takes.
func BenchmarkLive(b *testing.B) {
	t := New(NewMemory(4<<30), Config{})
	op := Op{Now: 1000, Slot: 1000, Cost: 1}
	for i := range uint32(10_000_000) {
		op.Addr = spread(i)
		t.Add(&op)
	}
	for b.Loop() {
		runtime.GC()
		start := time.Now()
		runtime.GC()
		b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "ms/gc")
	}
	b.ReportMetric(0, "ns/op")
	runtime.KeepAlive(t)
}

// BenchmarkFlood is a flood in full: two tables of one budget with limits of
// 2,000 and 20, fifty offenders each that cross during it, and a thousand
// ordinary clients. Run it with -benchtime 1x. The longest flood, of 15 events
// an address, is at a quarter of the scale, addresses and memory alike.
func BenchmarkFlood(b *testing.B) {
	for _, flooding := range []struct{ each, part int }{{1, 1}, {5, 1}, {15, 4}} {
		each, part := flooding.each, flooding.part
		b.Run(fmt.Sprint(each), func(b *testing.B) {
			for b.Loop() {
				f := flood{memory: 256 << 20 / int64(part), addresses: 20_000_000 / part, each: each, limits: []uint32{2000, 20}}
				start := time.Now()
				out := f.run(hugeMemory(b, f.memory))
				b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(f.addresses*each*len(f.limits)), "ns/event")
				b.ReportMetric(float64(out.offenders[0]+out.offenders[1]), "offenders")
				b.ReportMetric(float64(out.ordinary[0]+out.ordinary[1]), "clients")
				b.ReportMetric(float64(out.used)/(1<<20), "MiB")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// v6Of puts an IPv4 address into the first half of an IPv6 one.
func v6Of(a [4]byte) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 1, a[0], a[1], a[2], a[3]})
}
