package accesslog

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"edgeguard"
)

// listed is a source of seconds, in batches of the sizes given. It spoils each
// batch when it is asked for the next, as a reader does.
type listed struct {
	seconds []int64
	size    func() int
	end     error
	given   []edgeguard.Event
}

func (l *listed) Next() ([]edgeguard.Event, error) {
	clear(l.given)
	if len(l.seconds) == 0 {
		return nil, l.end
	}
	n := min(l.size(), len(l.seconds))
	l.given = make([]edgeguard.Event, n)
	for i, s := range l.seconds[:n] {
		l.given[i].Time = time.Unix(s, 0)
	}
	l.seconds = l.seconds[n:]
	return l.given, nil
}

func seconds(events []edgeguard.Event) []int64 {
	var out []int64
	for i := range events {
		out = append(out, events[i].Time.Unix())
	}
	return out
}

// naiveStrays is the slow twin: it has all events at hand.
func naiveStrays(all []int64, window int64) (kept []int64, dropped []uint64) {
	newest := int64(-1 << 40)
	for i, s := range all {
		follow := all[i+1 : min(len(all), i+1+lookAhead)]
		bearing, against := 0, 0
		for _, f := range follow {
			switch {
			case f >= s-window:
				bearing++
			case f >= newest:
				against++
			}
		}
		if s > newest+window && bearing*followShare < len(follow) && (against > 0 || len(follow) == lookAhead) {
			dropped = append(dropped, uint64(i))
			continue
		}
		newest = max(newest, s)
		kept = append(kept, s)
	}
	return kept, dropped
}

func TestStraysAgainstNaive(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 6))
	for range 3000 {
		all := make([]int64, rng.IntN(400))
		now := int64(1_000_000)
		for i := range all {
			now += rng.Int64N(20)
			if rng.IntN(100) == 0 {
				now += rng.Int64N(2000) // a gap in the traffic
			}
			all[i] = now - rng.Int64N(100)
			if rng.IntN(50) == 0 {
				all[i] += rng.Int64N(1_000_000) // a stray
			}
		}
		wantKept, wantDropped := naiveStrays(all, 300)
		var dropped []uint64
		src := &listed{seconds: all, size: func() int { return 1 + rng.IntN(1+rng.IntN(200)) }, end: io.EOF}
		events, err := drain(NewStrays(src, 300*time.Second, func(n uint64, ev *edgeguard.Event) {
			if ev.Time.Unix() != all[n] {
				t.Fatalf("seed %d: number %d is at %d, not %d", seed, n, all[n], ev.Time.Unix())
			}
			dropped = append(dropped, n)
		}))
		if err != io.EOF || !slices.Equal(seconds(events), wantKept) || !slices.Equal(dropped, wantDropped) {
			t.Fatalf("seed %d: %v\nkept %v\nwant %v\ndropped %v, want %v", seed, err, seconds(events), wantKept, dropped, wantDropped)
		}
	}
}

func TestStrays(t *testing.T) {
	run := func(from int64, n int) []int64 {
		out := make([]int64, n)
		for i := range out {
			out[i] = from + int64(i)
		}
		return out
	}
	const far = 4_000_000_000
	shuffled := run(1000, 1800)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for _, test := range []struct {
		name    string
		all     []int64
		dropped int
	}{
		{"in order", run(1000, 500), 0},
		{"one far ahead", slices.Concat(run(1000, 100), []int64{far}, run(1100, 100)), 1},
		{"one just before the last", slices.Concat(run(1000, 100), []int64{far, 1100}), 1},
		{"four together", slices.Concat(run(1000, 100), []int64{far, far, far, far}, run(1100, 100)), 4},
		{"the first", slices.Concat([]int64{far}, run(1000, 100)), 1},
		{"the last can harm nothing", slices.Concat(run(1000, 100), []int64{far}), 0},
		{"the last of a quiet log, and late lines", slices.Concat(run(1000, 100), []int64{1600, 900, 1050, 1098}), 0},
		{"late lines that are late without it", slices.Concat(run(10_000, 100), []int64{20_000}, run(1000, 20)), 0},
		{"one far ahead, late lines, and time goes on", slices.Concat(run(1000, 100), []int64{far, 900, 1050, 1099}), 1},
		{"one far ahead before many late lines", slices.Concat(run(10_000, 100), []int64{far}, run(1000, 100)), 1},
		{"a gap", slices.Concat(run(1000, 100), run(100_000, 100)), 0},
		{"a gap before the last", slices.Concat(run(1000, 100), run(100_000, 2)), 0},
		{"a gap and a late event", slices.Concat(run(1000, 100), []int64{100_000, 1100}, run(100_001, 100)), 0},
		{"shuffled over six windows", shuffled, 0},
		{"a single event", []int64{far}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			dropped := 0
			src := &listed{seconds: test.all, size: func() int { return 64 }, end: io.EOF}
			events, _ := drain(NewStrays(src, 300*time.Second, func(uint64, *edgeguard.Event) { dropped++ }))
			if dropped != test.dropped || len(events) != len(test.all)-dropped {
				t.Errorf("%d dropped, %d kept; want %d of %d dropped", dropped, len(events), test.dropped, len(test.all))
			}
		})
	}
}

func TestStraysPassErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	src := &listed{seconds: []int64{1000, 90_000}, size: func() int { return 1 }, end: broken}
	if events, err := drain(NewStrays(src, time.Minute, nil)); len(events) != 2 || err != broken {
		t.Errorf("%d events, %v", len(events), err)
	}
}
