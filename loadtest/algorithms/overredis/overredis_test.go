package overredis

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/internal/redistest"
	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/traffic"
)

// tiny is a run that a test has time for.
var tiny = sizes{clients: 20, slots: 1, singles: 20, fill: 500, settle: time.Millisecond}

// draw returns random traffic of a few clients, in whole microseconds: bursts, pauses
// of a slot, and up to two windows of silence.
func draw(r *rand.Rand, n int, window time.Duration, weighted bool) []traffic.Request {
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
		all[i] = traffic.Request{At: at, Client: r.Uint32N(5), Cost: 1}
		if weighted && r.IntN(4) == 0 {
			all[i].Cost = uint16(1 + r.IntN(30)) // at times more than the limit
		}
	}
	return all
}

// Each way decides as its twin in memory does on random traffic, and the needed entry
// says when to come again.
func TestTwins(t *testing.T) {
	r := &run{client: goredis.NewClient(&goredis.Options{Addr: redistest.Start(t, redistest.Options{}).Addr})}
	defer r.client.Close()
	const limit, window = 25, time.Minute
	for _, one := range []struct {
		way                   way
		twin                  limiter.Local
		weighted, count, wait bool
	}{
		{way: incr, twin: limiter.NewFixedWindow(limit, window)},
		{way: counters, twin: limiter.NewTwoCounters(limit, window), weighted: true, count: true},
		{way: logBy("oldest"), twin: limiter.NewSlidingLog(limit, window), weighted: true, count: true},
		{way: logBy("needed"), twin: limiter.NewSlidingLog(limit, window), weighted: true, count: true, wait: true},
	} {
		seed := rand.Uint64()
		if err := r.empty(t.Context(), &one.way); err != nil {
			t.Fatal(err)
		}
		requests := draw(rand.New(rand.NewPCG(seed, 0)), 4000, window, one.weighted)
		decisions, err := r.ask(t.Context(), &one.way, limits{limit, window}, requests, batch)
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for i, q := range requests {
			want, _ := one.twin.Take(at(q), q.Client, q.Cost)
			got := decisions[i]
			if got.Allowed != want.Allowed || one.count && got.Count != want.Count {
				t.Fatalf("%s, seed %d, request %d, %+v: %+v, in memory %+v", one.way.name, seed, i, q, got, want)
			}
			if one.wait && !got.Allowed && want.RetryAfter >= 0 && got.RetryAfter != want.RetryAfter {
				t.Fatalf("%s, seed %d, request %d, %+v waits %v, in memory %v", one.way.name, seed, i, q, got.RetryAfter, want.RetryAfter)
			}
			if !got.Allowed {
				refused++
			}
		}
		if refused < 50 {
			t.Errorf("%s: only %d of %d were refused", one.way.name, refused, len(requests))
		}
	}
}

// What no machine changes: what is claimed, and what documents say of memory.
func TestRun(t *testing.T) {
	redistest.Path(t)
	r, err := (&run{sizes: tiny, notes: io.Discard, result: new(Result)}).run(t.Context())
	if err != nil || r.Missing != "" {
		t.Fatal(err, r)
	}
	if c := r.Claims; len(c) != 3 || c[0].Said != 29 || c[0].Is != 59 || c[1].Said != 100 || c[1].Is != 500 || c[2].Said != 100 || c[2].Is != 100 {
		t.Errorf("%+v", c)
	}
	for _, m := range r.Memory {
		// What document 004 computes of a log holds for its own example, a limit of 100.
		if m.Holds() != (m.State == "100 requests: a packed list") || m.Bytes < m.Said {
			t.Errorf("%+v", m)
		}
	}
	for _, c := range r.Costs {
		if c.In < 100 || c.Out < 5 || c.Wait <= 0 {
			t.Errorf("%+v", c)
		}
	}
	if len(r.Costs) != 3 || r.Decision.Times <= 1 {
		t.Errorf("%d costs, %+v", len(r.Costs), r.Decision)
	}
}

// Without a Redis one line says so and names the fix, and it is no error: the rest goes
// on. So for a port that is in use.
func TestWithoutRedis(t *testing.T) {
	held, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	missing := func(o Options, fix string) {
		var notes strings.Builder
		r, err := Run(t.Context(), o, &notes)
		if err != nil || strings.Count(notes.String(), "\n") != 1 || !strings.Contains(r.Missing, fix) {
			t.Errorf("%+v, %v, %q", r, err, notes.String())
		}
	}
	if _, err := os.Stat(redistest.Path(t)); err == nil {
		missing(Options{Port: held.Addr().(*net.TCPAddr).Port}, "is in use: end the program that listens there")
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("EDGEGUARD_TEST_REDIS", "")
	missing(Options{}, "apt-get install redis-server")
}

// interrupter ends something when a step is noted.
type interrupter struct {
	at  string
	end func()
}

func (i interrupter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(i.at)) {
		i.end()
	}
	return len(p), nil
}

// A Redis that dies is said in one line; what was measured before is kept.
func TestRedisDies(t *testing.T) {
	redistest.Path(t)
	r := &run{sizes: tiny, result: new(Result)}
	r.notes = interrupter{"costs of counters", func() { r.server.Stop() }}
	result, err := r.run(t.Context())
	if err != nil || result.Missing == "" || strings.Contains(result.Missing, "\n") || len(result.Memory) != 6 {
		t.Errorf("%v, %d rows, %q", err, len(result.Memory), result.Missing)
	}
}

// Whatever an interrupt ends, no process and no file is left.
func TestInterrupt(t *testing.T) {
	redistest.Path(t)
	for _, at := range []string{"memory of", "costs of log", "documents say"} {
		folder := t.TempDir()
		t.Setenv("TMPDIR", folder)
		ctx, cancel := context.WithCancel(t.Context())
		r := &run{sizes: tiny, notes: interrupter{at, cancel}, result: new(Result)}
		if _, err := r.run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", at, err)
		}
		if conn, err := net.Dial("tcp", r.server.Addr); err == nil {
			_ = conn.Close()
			t.Errorf("%s: Redis runs on", at)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", at, left, err)
		}
	}
}
