package redis

import (
	"context"
	"fmt"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/internal/redistest"
)

// blocksOf returns the arguments of a call that publishes publishBatch blocks
// of rules.
func blocksOf(t testing.TB, now time.Time, from int, mac string, prefix func(i int) string) []any {
	t.Helper()
	args := []any{now.UnixMilli()}
	for i := from; i < from+publishBatch; i++ {
		r := aggregator.Record{Block: edgeguard.Block{
			Rule: "login", Origin: "edge-1.example.org", Reason: "over limit in the fleet: edge-1 12, edge-2 8", Version: 1,
			Since: now, Until: now.Add(24 * time.Hour), Count: 20, Limit: 19,
		}, Retention: 5 * time.Minute}
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, prefix(i), text, mac)
	}
	return args
}

// BenchmarkPublishFull measures what a batch costs Redis when the fleet's list
// is full: of a flood that is kept out, of blocks that each replace one of the
// flood, and while there is room; and what a record takes of its memory.
func BenchmarkPublishFull(b *testing.B) {
	ctx, names, now := context.Background(), newNames("t", 1), time.Now()
	s := redistest.Start(b, redistest.Options{MaxMemory: "1gb"})
	if err := s.Client().FunctionLoadReplace(ctx, LibrarySource).Err(); err != nil {
		b.Fatal(err)
	}
	next := 0
	publish := func(prefix func(i int) string) {
		if err := s.Client().FCall(ctx, function("publish"), names.publishKeys(), blocksOf(b, now, next, "", prefix)...).Err(); err != nil {
			b.Fatal(err)
		}
		next += publishBatch
	}
	flood := func(i int) string { return fmt.Sprintf("2001:db8:%x:%x::/64", i%16, i/16) }
	began, cpu := s.Memory(), s.CPU()
	for next < fleetFull {
		publish(flood)
	}
	bytes, before := float64(s.Memory()-began)/fleetFull, float64((s.CPU()-cpu).Microseconds())/fleetFull*publishBatch
	var kept, gone spent
	for b.Loop() {
		for range 20 {
			c := &crowd{server: s}
			kept.on(c, func() int { publish(flood); return 1 })
			gone.on(c, func() int {
				publish(func(i int) string { return fmt.Sprintf("%d.%d.%d.%d/32", 20+i%180, i/180%256, i>>16, i>>8&255) })
				return 1
			})
		}
	}
	b.ReportMetric(bytes, "bytes/record")
	b.ReportMetric(before, "before-µs/batch")
	b.ReportMetric(kept.each(), "kept-out-µs/batch")
	b.ReportMetric(gone.each(), "room-made-µs/batch")
	b.ReportMetric(0, "ns/op")
	if n := s.Client().HLen(ctx, names.blocks).Val(); n != fleetFull {
		b.Errorf("%d records", n)
	}
	b.Logf("%d records, %d MiB", s.Client().HLen(ctx, names.blocks).Val(), s.Memory()>>20)
}
