package redis

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/internal/redistest"
)

// BenchmarkHour measures what an hour of blocks costs a real Redis: 200 new ones a second,
// of addresses all over the net, signed, four batches a second, none of which ends within
// the hour. Some of the nodes' reads of the stream are made, each of which brings one
// batch, and fifty nodes' computed from them.
func BenchmarkHour(b *testing.B) {
	const nodes, readers, hour, pace, tenth = 50, 5, 3600, 200, 10
	ctx, names, now, mac := context.Background(), newNames("t", 1), time.Now(), strings.Repeat("m", 21)
	s := redistest.Start(b, redistest.Options{MaxMemory: "1gb"})
	if err := s.Client().FunctionLoadReplace(ctx, LibrarySource).Err(); err != nil {
		b.Fatal(err)
	}
	prefix := func(i int) string {
		n := uint32(i) * 2654435761 // a golden section: spread evenly
		return fmt.Sprintf("%d.%d.%d.%d/32", 1+n>>24%223, n>>16&255, n>>8&255, n&255)
	}
	var room, full, read spent
	var sent, took int
	for b.Loop() {
		if err := s.Client().FlushAll(ctx).Err(); err != nil {
			b.Fatal(err)
		}
		began, c, last := s.Memory(), &crowd{server: s}, "0"
		for next := 0; next < hour*pace; next += publishBatch {
			args, to := blocksOf(b, now, next, mac, prefix), &room
			if next >= fleetFull {
				to = &full
			}
			to.on(c, func() int {
				answers, err := s.Client().FCall(ctx, function("publish"), names.publishKeys(), args...).Int64Slice()
				if err != nil {
					b.Fatal(err)
				}
				for _, answer := range answers {
					if answer == publishTaken {
						took++
					}
				}
				return publishBatch
			})
			sent += publishBatch
			if next/publishBatch%tenth == 0 && next < fleetFull {
				last = readBy(b, s, names, last, readers, &read)
			}
		}
		b.ReportMetric(float64(s.Memory()-began)/(1<<20), "MiB")
	}
	b.ReportMetric(room.each(), "redis-µs/record")
	b.ReportMetric(full.each(), "full-redis-µs/record")
	b.ReportMetric(read.each(), "redis-µs/read")
	b.ReportMetric(pace*room.each()/1e4, "publish-%core")
	b.ReportMetric(pace*full.each()/1e4, "full-publish-%core")
	b.ReportMetric(nodes*pace/publishBatch*read.each()/1e4, "fanout-%core")
	b.ReportMetric(float64(took)/float64(sent), "taken")
	b.ReportMetric(float64(s.Client().HLen(ctx, names.blocks).Val()), "records")
	b.ReportMetric(0, "ns/op")
}

// readBy has so many nodes read the newest batch of the stream.
func readBy(b *testing.B, s *redistest.Server, n names, last string, readers int, read *spent) string {
	ctx := context.Background()
	newest, err := s.Client().XRevRangeN(ctx, n.stream, "+", "-", publishBatch+1).Result()
	if err != nil || len(newest) == 0 {
		b.Fatal(err, len(newest))
	}
	from := newest[len(newest)-1].ID
	if len(newest) <= publishBatch {
		from = last
	}
	read.on(&crowd{server: s}, func() int {
		for range readers {
			got, err := s.Client().XRead(ctx, &goredis.XReadArgs{Streams: []string{n.stream, from}, Count: 1000, Block: time.Second}).Result()
			if err != nil || len(got) != 1 || len(got[0].Messages) != publishBatch {
				b.Fatal(err, len(got))
			}
		}
		return readers
	})
	return newest[0].ID
}
