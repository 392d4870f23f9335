package clockguard

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestCorrect: a correction is slewed, moves no slot at once, is no step, and
// gives way to another.
func TestCorrect(t *testing.T) {
	w := newWorld()
	c := New(w.Reading, Config{})
	hours := func(n int) time.Duration {
		for range n * 3600 {
			if step, stepped := c.Observe(w.pass(time.Second)); stepped {
				t.Fatalf("reported %v", step)
			}
		}
		return c.Epoch(c.At(w.Mono)).Sub(w.Wall)
	}
	for _, by := range []time.Duration{0, 100 * time.Millisecond, -30 * time.Millisecond, MaxCorrection, -MaxCorrection, 0} {
		before := c.At(w.Mono)
		if !c.Correct(by) {
			t.Fatalf("%s is not followed", by)
		}
		if now := c.At(w.Mono); now != before {
			t.Errorf("%s: jumped by %s", by, now.Sub(before))
		}
		if got := hours(3); got != by {
			t.Errorf("after 3 hours %s ahead of the wall clock, want %s", got, by)
		}
		if c.Offset() != 0 {
			t.Errorf("%s: offset %s", by, c.Offset())
		}
	}
}

// TestCorrectTooMuch: what is not followed leaves the correction before it.
func TestCorrectTooMuch(t *testing.T) {
	w := newWorld()
	c := New(w.Reading, Config{})
	c.Correct(time.Millisecond)
	for _, by := range []time.Duration{MaxCorrection + 1, -MaxCorrection - 1, time.Hour, 1<<63 - 1, -1 << 63} {
		if c.Correct(by) {
			t.Errorf("%s is followed", by)
		}
	}
	for range 100 {
		c.Observe(w.pass(time.Second))
	}
	if got := c.At(w.Mono).Sub(w.Wall); got != time.Millisecond {
		t.Errorf("%s ahead", got)
	}
}

// TestCorrectIsNoStep holds that corrections change nothing of what is said of
// the wall clock: not the steps, not the offset. A twin that is never corrected
// sees the same steps, here multiples of Align, so that nothing of them is left
// to slew.
func TestCorrectIsNoStep(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		w := newWorld()
		align := []time.Duration{time.Second, DefaultAlign, time.Minute}[r.IntN(3)]
		c, twin := New(w.Reading, Config{Align: align}), New(w.Reading, Config{Align: align})
		for range 300 {
			if r.IntN(3) == 0 {
				c.Correct(time.Duration(r.Int64N(int64(2*MaxCorrection))) - MaxCorrection)
			}
			if r.IntN(20) == 0 {
				w.step(time.Duration(r.IntN(200)-100) * align)
			}
			reading := w.pass(time.Duration(r.Int64N(int64(time.Minute))))
			step, stepped := c.Observe(reading)
			want, wanted := twin.Observe(reading)
			if stepped != wanted || step.By != want.By || c.Offset() != twin.Offset() {
				t.Fatalf("%v, %v and offset %s; without corrections %v, %v and %s", step, stepped, c.Offset(), want, wanted, twin.Offset())
			}
			if apart := c.At(w.Mono).Sub(twin.At(w.Mono)).Abs(); apart > MaxCorrection {
				t.Fatalf("%s away from the wall clock", apart)
			}
		}
	}
}

// TestCorrectedGetsThere: with whatever steps and corrections before, six hours
// of quiet bring the time told to others to the wall clock and the last
// correction.
func TestCorrectedGetsThere(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 50 {
		w := newWorld()
		c := New(w.Reading, Config{})
		var by time.Duration
		for range 100 {
			if r.IntN(3) == 0 {
				by = time.Duration(r.Int64N(int64(2*MaxCorrection))) - MaxCorrection
				c.Correct(by)
			}
			if r.IntN(4) == 0 {
				w.step(time.Duration(r.Int64N(int64(time.Minute))) - 30*time.Second)
			}
			c.Observe(w.pass(time.Duration(r.Int64N(int64(3 * time.Second)))))
		}
		for range 12 * 1800 {
			c.Observe(w.pass(time.Second))
		}
		if got := c.Epoch(c.At(w.Mono)).Sub(w.Wall); got != by {
			t.Fatalf("%s ahead of the wall clock, want %s", got, by)
		}
		if c.Offset()%DefaultAlign != 0 {
			t.Fatalf("offset %s", c.Offset())
		}
	}
}

// TestSkewIsCorrected closes the loop: a node whose wall clock is wrong, and
// which asks over a network that makes it wait, comes as near to the server as
// the network lets it know.
func TestSkewIsCorrected(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	w := newWorld()
	c := New(w.Reading, Config{})
	var s Skew
	const apart = -700 * time.Millisecond
	for range 3600 {
		sent := w.Mono
		there, back := time.Duration(r.Int64N(int64(20*time.Millisecond))), time.Duration(r.Int64N(int64(20*time.Millisecond)))
		s.Add(Sample{Sent: sent, Received: sent + there + back, Server: start.Add(sent - time.Hour + there + apart)})
		w.pass(there + back)
		if offset, _, ok := s.Offset(w.Reading); ok {
			c.Correct(offset)
		}
		c.Observe(w.pass(time.Second))
	}
	if left := (c.Epoch(c.At(w.Mono)).Sub(w.Wall) - apart).Abs(); left > 20*time.Millisecond {
		t.Errorf("still %s away from the server", left)
	}
}
