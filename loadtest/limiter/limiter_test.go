package limiter_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/limiter/judge"
	"edgeguard/loadtest/traffic"
)

// play lets one limiter decide on requests that r draws, and calls
// look after each.
func play(r *rand.Rand, k limiter.Algorithm, s *traffic.Scenario, look func(l limiter.Local, now time.Duration, q traffic.Request, d limiter.Decision)) {
	l := k.New(s.Limit, s.Window)
	now := traffic.Start.Sub(time.Unix(0, 0))
	for range 400 {
		switch r.IntN(6) {
		case 0:
			now += time.Duration(r.Int64N(int64(s.Window/2/time.Microsecond))) * time.Microsecond
		case 1, 2:
			now += s.Window / 60
		case 3:
			now += time.Duration(r.IntN(1000)) * time.Microsecond
		}
		q := traffic.Request{Client: r.Uint32N(3), Cost: uint16(1 + r.IntN(3)*r.IntN(2))}
		allowed := l.Peek(now, q.Client, q.Cost)
		d, err := l.Take(now, q.Client, q.Cost)
		if err != nil || d.Allowed != allowed {
			panic(k.Name + ": Peek and Take do not agree")
		}
		look(l, now, q, d)
	}
}

func random(t *testing.T, each func(r *rand.Rand, s *traffic.Scenario)) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for run := range 40 {
		each(r, &traffic.Scenario{Limit: 3 + r.Uint32N(20), Window: time.Minute * time.Duration([]int{1, 5, 10}[run%3])})
	}
}

// What a limiter says of the time to wait is true for the limiter itself,
// unless it says nothing.
func TestRetryAfterIsTrue(t *testing.T) {
	for _, k := range limiter.Algorithms() {
		t.Run(k.Name, func(t *testing.T) {
			var w judge.Waits
			random(t, func(r *rand.Rand, s *traffic.Scenario) {
				play(r, k, s, func(l limiter.Local, now time.Duration, q traffic.Request, d limiter.Decision) {
					if !d.Allowed {
						w.Refused(l, s.Window, now, q.Client, q.Cost, d)
					}
				})
			})
			if silent := k.Name == "60-buckets"; w.Early > 0 || w.Late > 0 || w.Asked == 0 || (w.Silent == w.Asked) != silent {
				t.Errorf("%+v", w)
			}
		})
	}
}

// The ring's count is never more than that of the exact window, and less by no
// more than what came in one slot: so it admits no more than its limit in 59
// slots. The exact log and the fixed window are what they say, too.
func TestErrorIsAsStated(t *testing.T) {
	for _, k := range limiter.Algorithms() {
		if k.Since == nil || k.Name == "60-buckets" {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			random(t, func(r *rand.Rand, s *traffic.Scenario) {
				j := judge.New(s, k.Since)
				play(r, k, s, func(_ limiter.Local, now time.Duration, q traffic.Request, d limiter.Decision) { j.See(now, q, d) })
				v := j.Sentence()
				if v.Beyond > 0 || v.Greatest > 0 || -v.Least > float64(v.Bound) {
					t.Errorf("%+v", v)
				}
				if k.Name == "sliding-log" && (v.Over > 0 || v.RefusedFalsely > 0 || v.Least < 0) {
					t.Errorf("the exact log is not exact: %+v", v)
				}
				if k.Name == "ring-1" && v.ShortestMS >= 0 && v.ShortestMS < (s.Window-s.Window/60).Milliseconds() {
					t.Errorf("more than the limit in %d ms: %+v", v.ShortestMS, v)
				}
				if k.Name == "ring-1" && v.RefusedFalsely > 0 {
					t.Errorf("refused where there was room: %+v", v)
				}
			})
		})
	}
}

// What the log allowed leaves it when it is as old as the window, and not a microsecond
// before.
func TestLogEnds(t *testing.T) {
	for later, want := range map[time.Duration]bool{time.Minute: true, time.Minute - time.Microsecond: false} {
		l := limiter.NewSlidingLog(1, time.Minute)
		l.Take(time.Hour, 0, 1)
		if d, _ := l.Take(time.Hour+later, 0, 1); d.Allowed != want {
			t.Errorf("%v later: %+v", later, d)
		}
	}
}

// GCRA is a bucket of tokens, computed here token by token.
func TestGCRAIsATokenBucket(t *testing.T) {
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	const limit, window = 10, time.Minute
	g, each := limiter.NewGCRA(limit, window), window/limit
	filled, tokens, last := time.Duration(0), time.Duration(limit)*each, time.Duration(0) // tokens in time
	for i := range 5000 {
		filled += time.Duration(r.Int64N(int64(2 * each)))
		tokens, last = min(window, tokens+filled-last), filled
		cost := uint16(1 + r.IntN(3))
		want := tokens >= time.Duration(cost)*each
		if d, _ := g.Take(filled, 1, cost); d.Allowed != want {
			t.Fatalf("request %d: %t, want %t", i, d.Allowed, want)
		}
		if want {
			tokens -= time.Duration(cost) * each
		}
	}
}

// The estimate of two counters is that of the document's example: 8 in the last
// window, 3 in this, 45 s of 60 gone.
func TestTwoCountersAsWritten(t *testing.T) {
	l, begins := limiter.NewTwoCounters(8, time.Minute), 100*time.Minute
	for range 8 {
		l.Take(begins, 0, 1)
	}
	var d limiter.Decision
	for range 3 {
		d, _ = l.Take(begins+105*time.Second, 0, 1)
	}
	if !d.Allowed || d.Count != 5 {
		t.Errorf("%+v, want a count of 5", d)
	}
}

// What can never be allowed is told no time to wait.
func TestNever(t *testing.T) {
	for _, k := range limiter.Algorithms() {
		l := k.New(20, time.Minute)
		if d, _ := l.Take(time.Hour, 0, 21); d.Allowed || d.RetryAfter != limiter.Silent {
			t.Errorf("%s: %+v", k.Name, d)
		}
	}
}
