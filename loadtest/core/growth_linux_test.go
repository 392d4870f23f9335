package core

import (
	"math/bits"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/internal/hugepage"
	"edgeguard/rules"
	"edgeguard/shard"
)

const (
	grown    = 10_000_000 // keys at the end of the growth
	kept     = 2 << 20    // of which these live on
	slow     = 20 * time.Microsecond
	sweepGap = 20 * time.Millisecond // the program waits a second: here the same steps come closer together
)

// BenchmarkGrowth is every single decision while a table grows from nothing to ten
// million keys ("grow"), and then of two million live keys while the program's steps of
// Sweep forget the other eight ("expire"). The time stamps follow one another: what
// happens between two decisions, the reading of the clock and of the budget (60 to
// 100 ns a decision) included, is the decision's. Every thousand decisions, the same
// goroutine does nothing but read the clock for as long as these took: what that loop
// shows as well ("clock") is the machine's and not ours.
func BenchmarkGrowth(b *testing.B) {
	for _, way := range []struct {
		name   string
		memory func(int64) *shard.Memory
		gc     int
		target func(testing.TB, *shard.Memory) target
	}{
		{"add/heap", shard.NewMemory, 100, newAdder},
		{"add/heap/gc=off", shard.NewMemory, -1, newAdder},
		{"add/huge", hugepage.Memory, 100, newAdder},
		{"decide/heap", shard.NewMemory, 100, newDecider},
		{"decide/huge", hugepage.Memory, 100, newDecider},
	} {
		b.Run(way.name, func(b *testing.B) {
			defer debug.SetGCPercent(debug.SetGCPercent(way.gc))
			mem := way.memory(budget)
			target := way.target(b, mem)
			for b.Loop() {
				grow := newWatch(mem)
				grow.decisions(grown, func(n int) { target.decide(uint32(n), start) })
				grow.report(b, "grow")
				expire := forget(mem, target)
				expire.report(b, "expire")
			}
			b.ReportMetric(0, "ns/op")
			target.close()
			debug.FreeOSMemory()
		})
	}
}

// target is what decides: a table alone, or a detector.
type target struct {
	decide func(key uint32, now time.Time)
	sweep  func(now time.Time, pages int) int
	close  func()
}

func newAdder(_ testing.TB, mem *shard.Memory) target {
	table := shard.New(mem, shard.Config{Seed: 0x5eed})
	op := shard.Op{Cost: 1}
	return target{func(key uint32, now time.Time) {
		op.Addr, op.Now = address(key), uint32(now.Unix()/width)
		op.Slot = op.Now
		table.Add(&op)
	}, func(now time.Time, pages int) int { return table.Sweep(uint32(now.Unix()/width), pages) }, table.Close}
}

func newDecider(tb testing.TB, mem *shard.Memory) target {
	set, problems := rules.Compile([]rules.Spec{{Name: "site", Threshold: 2000, Wide: rules.WideDefault}})
	if len(problems) > 0 {
		tb.Fatal(problems)
	}
	d := detector.New(detector.Config{Rules: set, Memory: mem, List: blocklist.New(blocklist.Config{}), Node: "bench", Seed: 0x5eed})
	event := newRequests().event
	event.Method, event.Path = "GET", "/product/item-001/"
	return target{func(key uint32, now time.Time) {
		event.Addr, event.Time = address(key), now
		d.Decide(now, &event)
	}, d.Sweep, func() { d.Close(nil) }}
}

// forget lets all keys but the kept ones end, and watches decisions on these until
// Sweep has forgotten the others.
func forget(mem *shard.Memory, t target) *watch {
	for n := range uint32(kept) {
		t.decide(n, start.Add(30*width*time.Second))
	}
	now := start.Add(61 * width * time.Second)
	w := newWatch(mem)
	var done atomic.Bool
	go func() {
		defer done.Store(true)
		for left := grown - kept; left > 0; time.Sleep(sweepGap) {
			w.sweeping.Store(true)
			left -= t.sweep(now, mem.Stats().KeyPages/60+16)
			w.sweeping.Store(false)
		}
	}()
	live := newRequests() // draws of a million, here spread over the kept
	for !done.Load() {
		w.decisions(10_000, func(n int) { t.decide(live.key()<<1|uint32(n&1), now) })
	}
	return w
}

// watch takes the times of decisions, and of a loop that only reads the clock.
type watch struct {
	mem      *shard.Memory
	ours     times
	clock    times
	causes   map[string]*times
	sweeping atomic.Bool
	sample   []metrics.Sample // kept: reading into a new one makes garbage
	last     state
	begun    time.Time
}

// state is what tells the causes of a slow decision apart.
type state struct {
	used     int64
	pages    int
	pauses   uint64 // of the garbage collector
	switches int64  // away from this process, that it did not ask for
	sweeping bool
}

func newWatch(mem *shard.Memory) *watch {
	w := &watch{mem: mem, causes: map[string]*times{}, begun: time.Now(), sample: []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}}
	w.look()
	w.lookDeep()
	return w
}

func (w *watch) decisions(n int, decide func(n int)) {
	for from := 0; from < n; from += 1000 {
		begin := time.Since(w.begun)
		at := begin
		for i := from; i < min(from+1000, n); i++ {
			decide(i)
			at = w.note(at)
		}
		w.control(at, at-begin)
	}
}

// note takes the time of a decision that began at the time from, and returns when
// the next begins.
func (w *watch) note(from time.Duration) time.Duration {
	at := time.Since(w.begun)
	d := at - from
	w.ours.add(d)
	was := w.last
	w.look()
	if d < slow {
		return at
	}
	cause := w.cause(was)
	if w.causes[cause] == nil {
		w.causes[cause] = &times{}
	}
	w.causes[cause].add(d)
	return time.Since(w.begun)
}

func (w *watch) look() {
	s := w.mem.Stats()
	w.last.used, w.last.pages, w.last.sweeping = s.Used, s.KeyPages, w.sweeping.Load()
}

// lookDeep takes too long to be done for each decision. What it sees may have happened at
// any time since the last slow one, but neither happens without making one slow.
func (w *watch) lookDeep() {
	metrics.Read(w.sample)
	w.last.pauses = 0
	for _, n := range w.sample[0].Value.Float64Histogram().Counts {
		w.last.pauses += n
	}
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // it cannot fail for these arguments
	w.last.switches = usage.Nivcsw
}

// cause says what a slow decision coincided with. In a sweep, the budget is changed
// by the sweep too.
func (w *watch) cause(was state) string {
	w.lookDeep()
	is := w.last
	swept := was.sweeping || is.sweeping
	switch {
	case !swept && is.used > was.used+1<<20:
		return "chunk"
	case is.pauses != was.pauses:
		return "gc"
	case swept && is.used < was.used-1<<20:
		return "sweep-chunk"
	case swept:
		return "sweep"
	case is.used != was.used:
		return "directory"
	case is.pages != was.pages:
		return "split"
	case is.switches != was.switches:
		return "switched"
	}
	return "unknown"
}

// control reads the clock for so long.
func (w *watch) control(from, length time.Duration) {
	for at, end := from, from+length; at < end; {
		next := time.Since(w.begun)
		w.clock.add(next - at)
		at = next
	}
}

func (w *watch) report(b *testing.B, phase string) {
	w.ours.report(b, phase)
	w.causes["clock"] = &w.clock
	for cause, t := range w.causes {
		b.ReportMetric(float64(t.slow), phase+"-"+cause+"-over-20µs")
		b.ReportMetric(float64(t.over), phase+"-"+cause+"-over-1ms")
		b.ReportMetric(micros(t.max), phase+"-"+cause+"-µs-max")
	}
}

// times is a distribution in buckets of a sixteenth of a doubling at the most.
type times struct {
	buckets [64 * 16]int
	count   int
	slow    int // at least slow
	over    int // a millisecond
	max     time.Duration
}

func (t *times) add(d time.Duration) {
	t.buckets[bucketOf(uint64(d))]++
	t.count++
	if d > t.max {
		t.max = d
	}
	if d >= slow {
		t.slow++
	}
	if d > time.Millisecond {
		t.over++
	}
}

func bucketOf(n uint64) int {
	exp := max(bits.Len64(n)-5, 0)
	return exp<<4 + int(n>>exp)
}

// quantile is the upper end of the bucket in which it lies.
func (t *times) quantile(q float64) time.Duration {
	left := int(q * float64(t.count))
	for i, n := range t.buckets {
		if left -= n; left < 0 {
			exp := max(i>>4-1, 0)
			return time.Duration(i-exp<<4+1) << exp
		}
	}
	return t.max
}

func (t *times) report(b *testing.B, phase string) {
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}} {
		b.ReportMetric(micros(t.quantile(q.at)), phase+"-µs-"+q.name)
	}
	b.ReportMetric(micros(t.max), phase+"-µs-max")
	b.ReportMetric(float64(t.over), phase+"-over-1ms")
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
