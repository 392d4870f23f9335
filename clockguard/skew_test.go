package clockguard

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestSkew(t *testing.T) {
	var s Skew
	now := Reading{Wall: start, Mono: time.Hour}
	if _, _, ok := s.Offset(now); ok {
		t.Error("an offset before the first sample")
	}
	// Two samples agree on +300 ms at the same moment, the second with a
	// longer way back that makes it look later.
	server := func(after time.Duration) time.Time { return start.Add(300*time.Millisecond + after) }
	s.Add(Sample{Sent: time.Hour, Received: time.Hour + 2*time.Millisecond, Server: server(time.Millisecond)})
	s.Add(Sample{Sent: time.Hour + time.Second, Received: time.Hour + time.Second + 100*time.Millisecond, Server: server(time.Second + time.Millisecond)})
	now = Reading{Wall: start.Add(10 * time.Second), Mono: time.Hour + 10*time.Second}
	offset, within, ok := s.Offset(now)
	if want := time.Millisecond + 149*time.Microsecond + 985; !ok || offset != 300*time.Millisecond || within < time.Millisecond || within > want {
		t.Errorf("%s within %s, %v", offset, within, ok)
	}
	// A step of the wall clock is seen at once.
	now.Wall = now.Wall.Add(-time.Hour)
	if offset, _, _ := s.Offset(now); offset != time.Hour+300*time.Millisecond {
		t.Errorf("after a step: %s", offset)
	}
	s.Add(Sample{Sent: 2, Received: 1, Server: start})
	if again, _, _ := s.Offset(now); again != time.Hour+300*time.Millisecond {
		t.Errorf("a sample from before it was asked for changed it to %s", again)
	}
}

// TestSkewJumps: another server's time, or the server's after it was set, is
// believed at once, however long the trip; a wait is no jump.
func TestSkewJumps(t *testing.T) {
	for _, test := range []struct{ apart, trip, want time.Duration }{
		{900 * time.Millisecond, time.Second, 0},
		{-900 * time.Millisecond, time.Second, 0},
		{2 * time.Second, 1500 * time.Millisecond, 0},
		{2 * time.Second, 900 * time.Millisecond, 2 * time.Second},
		{-time.Hour, time.Minute, -time.Hour},
	} {
		var s Skew
		for mono := range time.Duration(3) {
			s.Add(Sample{Sent: mono, Received: mono, Server: start.Add(mono)})
		}
		s.Add(Sample{Sent: 0, Received: test.trip, Server: start.Add(test.apart + test.trip/2)})
		if offset, _, _ := s.Offset(Reading{Wall: start}); offset != test.want {
			t.Errorf("%s with a trip of %s: %s, not %s", test.apart, test.trip, offset, test.want)
		}
	}
}

// TestSkewForgets: the best sample is believed for eight samples, not for ever.
func TestSkewForgets(t *testing.T) {
	var s Skew
	s.Add(Sample{Sent: 0, Received: 1, Server: start})
	for i := range time.Duration(skewSamples) {
		if offset, _, _ := s.Offset(Reading{Wall: start}); offset.Abs() > time.Microsecond {
			t.Fatalf("after %d more: %s", i, offset)
		}
		s.Add(Sample{Sent: 0, Received: time.Second, Server: start.Add(time.Second)})
	}
	if offset, within, _ := s.Offset(Reading{Wall: start}); offset != time.Second/2 || within < time.Second/2 {
		t.Errorf("%s within %s", offset, within)
	}
}

// TestSkewIsWithin: however the way there and the way back share the round
// trip, and however two clocks drift, the truth is within what is said.
func TestSkewIsWithin(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		var s Skew
		w := newWorld()
		apart := time.Duration(r.Int64N(int64(20*time.Second))) - 10*time.Second
		parts := r.Float64()*2*drift - drift // per million
		server := func(mono time.Duration) time.Time {
			return start.Add(apart + mono - time.Hour + time.Duration(float64(mono-time.Hour)*parts/1e6))
		}
		for range 1 + r.IntN(20) {
			sent := w.Mono
			there, back := time.Duration(r.Int64N(int64(50*time.Millisecond))), time.Duration(r.Int64N(int64(50*time.Millisecond)))
			s.Add(Sample{Sent: sent, Received: sent + there + back, Server: server(sent + there)})
			w.pass(there + back + time.Duration(r.Int64N(int64(10*time.Second))))
			if r.IntN(5) == 0 {
				w.step(time.Duration(r.Int64N(int64(time.Hour))) - 30*time.Minute)
			}
		}
		offset, within, ok := s.Offset(w.Reading)
		truth := server(w.Mono).Sub(w.Wall)
		if off := (offset - truth).Abs(); !ok || off > within+time.Microsecond {
			t.Fatalf("%s within %s, and the truth is %s", offset, within, truth)
		}
	}
}
