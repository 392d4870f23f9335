package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/redistest"
	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/traffic"
	"edgeguard/rules"
)

var ctx = context.Background()

// dial starts a Redis, and returns a client of it.
func dial(t *testing.T) (*Client, *redistest.Server) {
	t.Helper()
	s := redistest.Start(t, redistest.Options{})
	c, err := Dial(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, s
}

// must is for what fails no test of its own.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// deciding is a limiter of this package.
type deciding interface {
	limiter.Limiter
	TakeAll(ctx context.Context, requests []traffic.Request, decisions []limiter.Decision) error
	Finish(ctx context.Context) error
}

// draw returns random traffic of a few clients, in whole microseconds: bursts, pauses
// of a slot, and up to two windows of silence.
func draw(r *rand.Rand, n int, window time.Duration, weighted bool, nodes int) []traffic.Request {
	all, at := make([]traffic.Request, n), time.Duration(0)
	for i := range all {
		switch r.IntN(120) {
		case 0:
			at += time.Duration(r.Int64N(int64(2*window/time.Microsecond))) * time.Microsecond
		case 1, 2, 3:
			at += window / 60
		case 4, 5, 6, 7, 8, 9, 10, 11:
			at += time.Duration(r.IntN(1_000_000)) * time.Microsecond
		}
		all[i] = traffic.Request{At: at, Client: r.Uint32N(5), Cost: 1, Node: uint16(r.IntN(nodes))}
		if weighted && r.IntN(4) == 0 {
			all[i].Cost = uint16(1 + r.IntN(30)) // at times more than the limit
		}
	}
	return all
}

// Each way decides as its twin in memory does on random traffic, one by one and in
// pipelines, and names the same time to wait where it names the true one.
func TestTwins(t *testing.T) {
	c, _ := dial(t)
	const limit, window = 25, time.Minute
	pushes := func(quiet bool) func() deciding {
		return func() deciding {
			return must(NewPushes(ctx, c, Options{Limit: limit, Window: window, Nodes: 1, Quiet: quiet}))
		}
	}
	ring := func() limiter.Local { return limiter.NewRing(limit, rules.Guard(1_000_000), window) }
	exact := func() limiter.Local { return limiter.NewSlidingLog(limit, window) }
	for name, w := range map[string]struct {
		open                  func() deciding
		twin                  func() limiter.Local
		weighted, count, wait bool
	}{
		"incr": {open: func() deciding { return must(NewIncr(ctx, c, limit, window)) }, wait: true,
			twin: func() limiter.Local { return limiter.NewFixedWindow(limit, window) }},
		"counters": {open: func() deciding { return must(NewCounters(ctx, c, limit, window)) }, weighted: true, count: true,
			twin: func() limiter.Local { return limiter.NewTwoCounters(limit, window) }},
		"log":          {open: func() deciding { return must(NewLog(ctx, c, limit, window, false)) }, weighted: true, count: true, twin: exact},
		"truthful log": {open: func() deciding { return must(NewLog(ctx, c, limit, window, true)) }, weighted: true, count: true, wait: true, twin: exact},
		"pushes":       {open: pushes(false), weighted: true, count: true, wait: true, twin: ring},
		"quiet pushes": {open: pushes(true), weighted: true, count: true, wait: true, twin: ring},
	} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			if err := c.Empty(ctx); err != nil {
				t.Fatal(err)
			}
			l, twin := w.open(), w.twin()
			requests := draw(rand.New(rand.NewPCG(seed, 0)), 4000, window, w.weighted, 1)
			decisions := make([]limiter.Decision, len(requests))
			for i, q := range requests[:1000] {
				decisions[i] = must(l.Take(sinceEpoch(q.At), q.Client, q.Cost))
			}
			if err := l.TakeAll(ctx, requests[1000:], decisions[1000:]); err != nil {
				t.Fatal(err)
			}
			refused := 0
			for i, q := range requests {
				got, want := decisions[i], must(twin.Take(sinceEpoch(q.At), q.Client, q.Cost))
				if !w.count {
					want.Count = got.Count
				}
				if !w.wait {
					want.RetryAfter = got.RetryAfter
				}
				if got != want {
					t.Fatalf("request %d, %+v: %+v, in memory %+v", i, q, got, want)
				}
				if !got.Allowed {
					refused++
				}
			}
			if refused < 50 {
				t.Errorf("only %d of %d were refused", refused, len(requests))
			}
		})
	}
}

// 1 of 100, half a minute later 99, and a second later 99 more: who waits until the
// oldest has left is refused again.
func TestRetryAfter(t *testing.T) {
	c, _ := dial(t)
	for truthful, want := range map[bool]time.Duration{false: 29 * time.Second, true: 59 * time.Second} {
		if err := c.Empty(ctx); err != nil {
			t.Fatal(err)
		}
		l := must(NewLog(ctx, c, 100, time.Minute, truthful))
		var d limiter.Decision
		for at, cost := range []uint16{0: 1, 30: 99, 31: 99} {
			if cost > 0 {
				d = must(l.Take(sinceEpoch(time.Duration(at)*time.Second), 1, cost))
			}
		}
		if d.Allowed || d.RetryAfter != want {
			t.Errorf("truthful %t: %+v, want %v", truthful, d, want)
		}
		again := must(l.Take(sinceEpoch(31*time.Second+d.RetryAfter), 1, 99))
		if again.Allowed != truthful {
			t.Errorf("truthful %t: after that time it is allowed: %t", truthful, again.Allowed)
		}
	}
}

// Where the microsecond is the member, all requests of one are one: no limit holds
// them. By Redis' own clock they are told apart, as each call takes longer.
func TestMicrosecondsMerge(t *testing.T) {
	c, _ := dial(t)
	l := must(NewMoments(ctx, c, 10, time.Minute, false))
	for range 30 {
		if d := must(l.Take(sinceEpoch(time.Second), 1, 1)); !d.Allowed {
			t.Fatalf("%+v", d)
		}
	}
	key := "moments:" + traffic.Request{Client: 1}.Addr().String()
	if n := c.redis.ZCard(ctx, key).Val(); n != 1 {
		t.Errorf("30 requests of a microsecond are %d in the log", n)
	}
	live := must(NewMoments(ctx, c, 1_000_000, time.Minute, true))
	const calls = 3000
	if err := live.TakeAll(ctx, make([]traffic.Request, calls), make([]limiter.Decision, calls)); err != nil {
		t.Fatal(err)
	}
	key = "moments:" + traffic.Request{}.Addr().String()
	t.Logf("by Redis' clock, %d requests are %d in the log", calls, c.redis.ZCard(ctx, key).Val())
}

// A request that INCR refuses for its cost takes what was left of the window.
func TestIncrCountsWhatItRefuses(t *testing.T) {
	c, _ := dial(t)
	l := must(NewIncr(ctx, c, 10, time.Minute))
	for i, want := range []struct {
		cost    uint16
		allowed bool
	}{{6, true}, {5, false}, {1, false}} {
		if d := must(l.Take(sinceEpoch(0), 1, want.cost)); d.Allowed != want.allowed {
			t.Errorf("request %d: %+v", i, d)
		}
	}
}

// The same traffic decides, and sends, the same: also of a fleet whose nodes ask each
// other to push.
func TestSameTwice(t *testing.T) {
	c, _ := dial(t)
	const window = time.Minute
	requests := draw(rand.New(rand.NewPCG(7, 0)), 2500, window, true, 4)
	for _, o := range []Options{
		{Limit: 25, Window: window, Nodes: 4}, {Limit: 25, Window: window, Nodes: 4, Quiet: true},
		{Limit: 25, Window: window, Nodes: 4, Quiet: true, Block: true},
	} {
		var first string
		for turn := range 2 {
			if err := c.Empty(ctx); err != nil {
				t.Fatal(err)
			}
			l, decisions := must(NewPushes(ctx, c, o)), make([]limiter.Decision, len(requests))
			before := c.Sent()
			if err := l.TakeAll(ctx, requests, decisions); err != nil {
				t.Fatal(err)
			}
			if err := l.Finish(ctx); err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%+v, %d keys: %+v", c.Sent().Since(before), l.Pushed(), decisions)
			if turn == 0 {
				first = got
			} else if got != first {
				t.Errorf("%+v: turn %d: %.200s, first %.200s", o, turn, got, first)
			}
		}
	}
}

// One node's pushes are added to the others': a client that no node sees more of than
// a quarter of the limit is blocked on all.
func TestPushesBlock(t *testing.T) {
	c, _ := dial(t)
	const limit, nodes = 40, 4
	l := must(NewPushes(ctx, c, Options{Limit: limit, Window: time.Minute, Nodes: nodes, Quiet: true, Block: true}))
	allowed := 0
	for i := range 400 {
		q := traffic.Request{At: time.Duration(i) * 100 * time.Millisecond, Client: 3, Cost: 1, Node: uint16(i % nodes)}
		var d [1]limiter.Decision
		if err := l.TakeAll(ctx, []traffic.Request{q}, d[:]); err != nil {
			t.Fatal(err)
		}
		if d[0].Allowed {
			allowed++
		}
	}
	// A push interval has five requests, and an answer follows the push.
	if allowed < limit || allowed > limit+2*5 {
		t.Errorf("%d are allowed, of a limit of %d", allowed, limit)
	}
	if d := must(l.Take(sinceEpoch(9*time.Minute), 3, 1)); d.Allowed {
		t.Error("it is not blocked for ten minutes")
	}
}

// What a client counts is what Redis counts.
func TestSent(t *testing.T) {
	c, s := dial(t)
	// Of INFO's own question and answer, the answer is in the next one's figures.
	traffic := func() (in, out int64, text string) {
		text = must(s.Client().Info(ctx, "stats").Result())
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			switch name {
			case "total_net_input_bytes":
				in = must(strconv.ParseInt(value, 10, 64))
			case "total_net_output_bytes":
				out = must(strconv.ParseInt(value, 10, 64))
			}
		}
		return in, out, text
	}
	l := must(NewLog(ctx, c, 5, time.Minute, true))
	must(l.Take(sinceEpoch(0), 1, 1)) // the connection is open
	in, out, text := traffic()
	before := c.Sent()
	for _, q := range draw(rand.New(rand.NewPCG(1, 0)), 200, time.Minute, true, 1) {
		must(l.Take(sinceEpoch(q.At), q.Client, q.Cost))
	}
	sent := c.Sent().Since(before)
	inAfter, outAfter, _ := traffic()
	const question = "*2\r\n$4\r\ninfo\r\n$5\r\nstats\r\n"
	head := fmt.Sprintf("=%d\r\ntxt:", len(text)+4) // RESP3
	if got := inAfter - in - int64(len(question)); got != sent.In {
		t.Errorf("%d bytes in, Redis says %d", sent.In, got)
	}
	if got := outAfter - out - int64(len(head)+len(text)+2); got != sent.Out {
		t.Errorf("%d bytes out, Redis says %d", sent.Out, got)
	}
	if sent.All() != 200 || sent.Exchanges != 200 {
		t.Errorf("%+v", sent)
	}
}
