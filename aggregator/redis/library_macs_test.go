package redis

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/internal/redistest"
)

// signedRig is a server with the records of a test.
type signedRig struct {
	*both
	names names
	now   time.Time
}

func newSignedRig(t testing.TB) *signedRig {
	timed := newBeats(t)
	return &signedRig{both: timed.both, names: timed.names, now: timed.now}
}

const somePrefix = "203.0.113.1/32"

func (r *signedRig) record(version uint64, until time.Duration) string {
	r.t.Helper()
	block := aggregator.Record{Block: edgeguard.Block{
		Prefix: netip.MustParsePrefix(somePrefix), Rule: "site", Version: version, Since: r.now.Add(-time.Hour), Until: r.now.Add(until),
	}, Retention: time.Second}
	text, err := block.Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}

// publish publishes a record with its MAC or none.
func (r *signedRig) publish(prefix, record, mac string) int64 {
	r.t.Helper()
	return r.call(r.now, "publish", r.names.publishKeys(), []string{fmt.Sprint(r.now.UnixMilli()), prefix, record, mac}).([]any)[0].(int64)
}

func (r *signedRig) replace(prefix, bad, record, mac string) int64 {
	r.t.Helper()
	return r.call(r.now, "replace", r.names.publishKeys(), []string{prefix, bad, record, mac}).([]any)[0].(int64)
}

// has checks the MAC that is stored, and the newest entry of the stream.
func (r *signedRig) has(mac, streamed string) {
	r.t.Helper()
	ctx := context.Background()
	if got := r.node.HGet(ctx, r.names.macs, somePrefix).Val(); got != mac {
		r.t.Errorf("the MAC is %q, want %q", got, mac)
	}
	entries := r.admin().XRevRange(ctx, r.names.stream, "+", "-").Val()
	if got, _ := entries[0].Values["m"].(string); got != streamed {
		r.t.Errorf("the stream has the MAC %q, want %q", got, streamed)
	}
	r.compareStream(r.names)
}

func TestLibraryStoresMACs(t *testing.T) {
	t.Parallel()
	r := newSignedRig(t)
	one, two, other := strings.Repeat("1", 21), strings.Repeat("2", 21), strings.Repeat("3", 21)
	first, second, third := r.record(1, time.Hour), r.record(2, time.Hour), r.record(3, time.Hour)
	for i, step := range []struct {
		answer, want  int64
		mac, streamed string
	}{
		{r.publish(somePrefix, first, one), 1, one, one},
		{r.publish(somePrefix, first, one), 0, one, one},
		{r.publish(somePrefix, first, ""), 0, one, one}, // an unsigned copy takes no MAC away
		{r.publish(somePrefix, first, other), 3, other, other},
		{r.publish(somePrefix, second, two), 1, two, two},
		{r.publish(somePrefix, first, one), 0, two, two}, // of a record that is not there
		{r.publish(somePrefix, third, ""), 1, "", ""},
		{r.publish(somePrefix, third, one), 3, one, one},
		{r.publish(somePrefix, r.record(4, time.Hour), ""), 1, "", ""},
	} {
		if step.answer != step.want {
			t.Errorf("step %d: answer %d, want %d", i, step.answer, step.want)
		}
	}
	r.has("", "")
	// The same, one by one.
	r.publish(somePrefix, r.record(5, time.Hour), one)
	r.has(one, one)
	r.publish(somePrefix, r.record(5, time.Hour), two)
	r.has(two, two)
	r.publish(somePrefix, r.record(6, time.Hour), "")
	r.has("", "")
}

// TestLibraryReplaces: only where exactly the refused bytes are, however great
// they are in the order of records.
func TestLibraryReplaces(t *testing.T) {
	t.Parallel()
	r := newSignedRig(t)
	mac := strings.Repeat("1", 21)
	bad, good := r.record(1<<64-2, time.Hour), r.record(1, time.Hour)
	r.publish(somePrefix, bad, "")
	if a := r.publish(somePrefix, good, mac); a != 0 {
		t.Errorf("a greater record is replaced: %d", a)
	}
	for _, not := range []string{"", bad[1:], bad + "x", strings.Replace(bad, "site", "sitE", 1), good} {
		if a := r.replace(somePrefix, not, good, mac); a != 0 {
			t.Errorf("replaced where %q was named: %d", not, a)
		}
	}
	if a := r.replace("203.0.113.2/32", "", good, mac); a != 0 {
		t.Errorf("replaced where nothing is: %d", a)
	}
	if a := r.replace(somePrefix, bad, good, mac); a != 1 {
		t.Errorf("not replaced: %d", a)
	}
	r.has(mac, mac)
	if a := r.replace(somePrefix, good, "", ""); a != 1 {
		t.Errorf("not removed: %d", a)
	}
	r.has("", "")
	if n := len(r.reference.Blocks(r.names.blocks)); n != 0 || r.admin().Exists(context.Background(), r.names.blocks, r.names.ends, r.names.macs).Val() != 0 {
		t.Error("a removed record has left something")
	}
	if last := r.reference.Stream(r.names.blocks); !last[len(last)-1].Gone {
		t.Error("the stream does not say that it is gone")
	}
}

// TestLibraryReplacesOnce: of nodes that replace one record together, one does.
func TestLibraryReplacesOnce(t *testing.T) {
	t.Parallel()
	r := newSignedRig(t)
	var done atomic.Int64
	for round := range uint64(20) {
		bad, good := r.record(1<<40+round, time.Hour), r.record(round, time.Hour)
		r.publish(somePrefix, bad, "")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				n, err := r.node.FCall(context.Background(), function("replace"), r.names.publishKeys(), somePrefix, bad, good, "").Int64Slice()
				if err != nil || len(n) != 1 {
					t.Errorf("%v, %v", n, err)
					return
				}
				done.Add(n[0])
			})
		}
		all.Wait()
		r.reference.Call(r.now, function("replace"), r.names.publishKeys(), []string{somePrefix, bad, good, ""})
	}
	if done.Load() != 20 {
		t.Errorf("%d of 20 rounds of 8", done.Load())
	}
	r.compareBlocks(r.names)
	r.compareStream(r.names)
}

// TestLibraryRemovesMACs: with the records that they belong to, or some calls
// later where there is no record.
func TestLibraryRemovesMACs(t *testing.T) {
	t.Parallel()
	r := newSignedRig(t)
	ctx, mac := context.Background(), strings.Repeat("1", 21)
	short := r.record(1, -2*time.Second)
	ended := func() int64 { return r.node.HLen(ctx, r.names.macs).Val() }
	r.now = r.now.Add(-time.Minute) // by this clock it has not ended
	r.publish("203.0.113.7/32", short, mac)
	r.publish("203.0.113.8/32", r.record(1, time.Hour), mac)
	r.now = r.now.Add(time.Minute)
	r.publish("203.0.113.9/32", r.record(1, time.Hour), "")
	if n := ended(); n != 1 {
		t.Errorf("%d MACs, want that of the record that lasts", n)
	}
	// More MACs than records: those without one go, over some calls.
	for i := range 1500 {
		if err := r.node.HSet(ctx, r.names.macs, fmt.Sprint("stray ", i), mac).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; ended() > 2; n++ {
		args := []any{r.now.UnixMilli()}
		if n > 100 {
			t.Fatalf("%d MACs beside 2 records after %d calls", ended(), n)
		}
		if err := r.node.FCall(ctx, function("publish"), r.names.publishKeys(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.node.HGet(ctx, r.names.macs, "203.0.113.8/32").Val(); got != mac {
		t.Errorf("the MAC of a record is %q", got)
	}
}

// TestMACBytes holds what a MAC takes of Redis' memory, beside its record and in
// the stream.
func TestMACBytes(t *testing.T) {
	t.Parallel()
	ctx, names, now := context.Background(), newNames("t", 1), time.Now()
	s := redistest.Start(t, redistest.Options{MaxMemory: "1gb"})
	if err := s.Client().FunctionLoadReplace(ctx, LibrarySource).Err(); err != nil {
		t.Fatal(err)
	}
	const batches = 160
	var bytes [2]int64
	for i, mac := range []string{"", strings.Repeat("m", 21)} {
		if err := s.Client().FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		before := s.Memory()
		for n := range batches {
			args := blocksOf(t, now, n*publishBatch, mac, func(i int) string { return fmt.Sprintf("10.0.%d.%d/32", i>>8, i&255) })
			if err := s.Client().FCall(ctx, function("publish"), names.publishKeys(), args...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		bytes[i] = (s.Memory() - before) / (batches * publishBatch)
	}
	t.Logf("a record takes %d bytes, and %d with a MAC", bytes[0], bytes[1])
	if more := bytes[1] - bytes[0]; more < 21 || more > 140 {
		t.Errorf("a record takes %d bytes, and %d with a MAC: more than 140 for it", bytes[0], bytes[1])
	}
}

// BenchmarkPublish measures what a record costs Redis without and with a MAC, a
// MAC alone, and what the two take of its memory.
func BenchmarkPublish(b *testing.B) {
	ctx, names, now, mac := context.Background(), newNames("t", 1), time.Now(), strings.Repeat("m", 21)
	s := redistest.Start(b, redistest.Options{MaxMemory: "1gb"})
	if err := s.Client().FunctionLoadReplace(ctx, LibrarySource).Err(); err != nil {
		b.Fatal(err)
	}
	prefix := func(i int) string { return fmt.Sprintf("10.%d.%d.%d/32", i>>16, i>>8&255, i&255) }
	publish := func(from int, mac string) {
		args := blocksOf(b, now, from, mac, prefix)
		if err := s.Client().FCall(ctx, function("publish"), names.publishKeys(), args...).Err(); err != nil {
			b.Fatal(err)
		}
	}
	const batches = 1 << 16 / publishBatch
	c := &crowd{server: s}
	run := func(mac string) func() int {
		return func() int {
			for i := range batches {
				publish(i*publishBatch, mac)
			}
			return batches * publishBatch
		}
	}
	var unsigned, signed, alone spent
	var bytes [2]float64
	for b.Loop() {
		for i, with := range []bool{false, true} {
			if err := s.Client().FlushAll(ctx).Err(); err != nil {
				b.Fatal(err)
			}
			before := s.Memory()
			if with {
				signed.on(c, run(mac))
			} else {
				unsigned.on(c, run(""))
			}
			bytes[i] = float64(s.Memory()-before) / (batches * publishBatch)
		}
		alone.on(c, run(strings.Repeat("n", 21)))
	}
	b.ReportMetric(unsigned.each(), "redis-µs/record")
	b.ReportMetric(signed.each(), "signed-µs/record")
	b.ReportMetric(alone.each(), "mac-µs/record")
	b.ReportMetric(bytes[0], "bytes/record")
	b.ReportMetric(bytes[1], "signed-bytes/record")
	b.ReportMetric(0, "ns/op")
}
