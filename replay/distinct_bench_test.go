package replay_test

import (
	"errors"
	"io"
	"net/netip"
	"testing"
	"time"

	"edgeguard/internal/realdata"
	"edgeguard/logline"
	"edgeguard/rules"
	"edgeguard/sensor/accesslog"
	"edgeguard/shard"
)

// BenchmarkDistinctLog counts the failing requests of a real log, with 64 copies of
// each client, in a table of counts and in one of marks, in turns and in batches: "times" is
// how many times the time of the counts the marks take, and "B/key" and
// "plain-B/key" are what both take beside the entries.
func BenchmarkDistinctLog(b *testing.B) {
	ops := failingPaths(b)
	var took [2]time.Duration
	var bytes [2]float64
	batch, out := make([]shard.Op, 64), make([]shard.Count, 64)
	rounds := 0
	for b.Loop() {
		for i, distinct := range []bool{false, true} {
			mem := shard.NewMemory(256 << 20)
			table := shard.New(mem, shard.Config{Distinct: distinct, Seed: 5})
			start := time.Now()
			for k := range ops {
				a := ops[k].Addr.As4()
				for copies := range batch {
					a[0] = byte(copies)
					batch[copies] = ops[k]
					batch[copies].Addr = netip.AddrFrom4(a)
				}
				table.AddBatch(batch, out)
			}
			took[i] += time.Since(start)
			bytes[i] = float64(table.Stats().Rings) * 120 / float64(table.Stats().Keys)
		}
		rounds++
	}
	events := float64(rounds * len(ops) * len(batch))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took[0].Nanoseconds())/events, "plain-ns")
	b.ReportMetric(float64(took[1].Nanoseconds())/events, "distinct-ns")
	b.ReportMetric(float64(took[1])/float64(took[0]), "times")
	b.ReportMetric(bytes[0], "plain-B/key")
	b.ReportMetric(bytes[1], "B/key")
}

// failingPaths returns the failing requests of IPv4 clients in the WordPress log.
func failingPaths(b *testing.B) (ops []shard.Op) {
	f, _ := logline.ParseFormat("combined")
	r, err := accesslog.Open(realdata.Path(b, "weblog-wordpress-2016", "access.log.gz"), f, accesslog.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	set, _ := rules.Compile([]rules.Spec{{Name: "r", Distinct: "path", Threshold: 20, Match: rules.Match{Status: []string{"4xx"}}}})
	m := &set.Meters[0]
	var now uint32
	for {
		events, err := r.Next()
		for i := range events {
			ev := &events[i]
			value, known := m.Value(ev, nil)
			now = max(now, uint32(ev.Time.Unix())/m.Width)
			if _, ok := m.Match(ev); ok && known && ev.Addr.Is4() {
				ops = append(ops, shard.Op{Addr: ev.Addr, Now: now, Slot: uint32(ev.Time.Unix()) / m.Width, Cost: 1, Value: shard.Value(5, value)})
			}
		}
		if errors.Is(err, io.EOF) {
			return ops
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
