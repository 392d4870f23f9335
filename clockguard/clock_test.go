package clockguard

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// world is a pair of clocks that a test moves.
type world struct{ Reading }

func newWorld() *world { return &world{Reading{Wall: start, Mono: time.Hour}} }

func (w *world) pass(d time.Duration) Reading {
	w.Wall, w.Mono = w.Wall.Add(d), w.Mono+d
	return w.Reading
}

func (w *world) step(d time.Duration) { w.Wall = w.Wall.Add(d) }

// TestSteps steps the wall clock once, and then lets an hour pass in seconds.
func TestSteps(t *testing.T) {
	tests := []struct {
		name   string
		by     time.Duration
		offset time.Duration // the multiple of 5 s that is left at once
	}{
		{"an hour back", -time.Hour, -time.Hour},
		{"an hour ahead", time.Hour, time.Hour},
		{"5 s ahead", 5 * time.Second, 5 * time.Second},
		{"5 s back", -5 * time.Second, -5 * time.Second},
		{"300 s ahead", 300 * time.Second, 300 * time.Second},
		{"300 s back", -300 * time.Second, -300 * time.Second},
		{"leap second: the wall clock repeats one", -time.Second, 0},
		{"a second ahead", time.Second, 0},
		{"7 s: 5, and 2 to slew", 7 * time.Second, 5 * time.Second},
		{"8 s: 10, and 2 to slew back", 8 * time.Second, 10 * time.Second},
		{"past 2038", 20 * 365 * 24 * time.Hour, 20 * 365 * 24 * time.Hour},
		{"back to 1970", start.Sub(time.Unix(0, 0)) * -1, start.Sub(time.Unix(0, 0)) * -1},
		{"suspended for 10 min: the monotonic clock stood", 10 * time.Minute, 10 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			c := New(w.Reading, Config{})
			c.Observe(w.pass(time.Second))
			w.step(tt.by)
			step, stepped := c.Observe(w.pass(time.Second))
			if want := (Step{At: start.Add(2 * time.Second), By: tt.by}); !stepped || step != want {
				t.Fatalf("reported %v, %v, want %v", step, stepped, want)
			}
			if c.Offset() != tt.offset {
				t.Errorf("offset %s, want %s", c.Offset(), tt.offset)
			}
			before := c.At(w.Mono)
			for range 3 * 3600 {
				if step, stepped := c.Observe(w.pass(time.Second)); stepped {
					t.Fatalf("reported again: %v", step)
				}
			}
			passed := c.At(w.Mono).Sub(before)
			if slewed := passed - 3*time.Hour; slewed != tt.by-tt.offset {
				t.Errorf("slewed %s, want %s", slewed, tt.by-tt.offset)
			}
			if got := c.Epoch(c.At(w.Mono)); !got.Equal(w.Wall) {
				t.Errorf("epoch %s, wall clock %s", got, w.Wall)
			}
			if c.Offset() != tt.offset || c.Offset()%DefaultAlign != 0 {
				t.Errorf("offset %s, want %s", c.Offset(), tt.offset)
			}
		})
	}
}

func TestSmallJumpsAreSlewed(t *testing.T) {
	w := newWorld()
	c := New(w.Reading, Config{})
	w.step(100 * time.Millisecond)
	if step, stepped := c.Observe(w.pass(time.Second)); stepped {
		t.Errorf("reported %v", step)
	}
	if got := c.At(w.Mono).Sub(start); got != time.Second {
		t.Errorf("local time jumped: %s after a second", got)
	}
	if got := c.At(w.Mono + settle).Sub(start); got != time.Second+settle {
		t.Errorf("slewed before the course changes: %s", got)
	}
	if got := c.At(w.Mono + settle + 100*time.Second).Sub(start); got != settle+101*time.Second+50*time.Millisecond {
		t.Errorf("after 100 s more: %s, want 50 ms slewed", got)
	}
	if got := c.At(w.Mono + time.Hour).Sub(start); got != time.Hour+time.Second+100*time.Millisecond {
		t.Errorf("after an hour: %s, want 100 ms slewed and no more", got)
	}
}

// TestSmallJumpsGather: jumps too small to report do not carry local slots
// more than one Align away from everybody's.
func TestSmallJumpsGather(t *testing.T) {
	w := newWorld()
	c := New(w.Reading, Config{Align: time.Second})
	reported := time.Duration(0)
	for range 30 {
		w.step(100 * time.Millisecond)
		if step, stepped := c.Observe(w.pass(time.Second)); stepped {
			reported += step.By
		}
		if apart := w.Wall.Sub(c.Epoch(c.At(w.Mono))); apart.Abs() > time.Second {
			t.Fatalf("%s apart", apart)
		}
	}
	if reported != c.Offset() || reported < 2*time.Second {
		t.Errorf("reported %s, offset %s", reported, c.Offset())
	}
}

func TestSlewedWallClockIsNoStep(t *testing.T) {
	w := newWorld()
	c := New(w.Reading, Config{})
	for range 100 { // 500 ppm, seen once in ten minutes: 300 ms each
		w.step(300 * time.Millisecond)
		if step, stepped := c.Observe(w.pass(10 * time.Minute)); stepped {
			t.Fatalf("reported %v", step)
		}
	}
	if apart := w.Wall.Sub(c.At(w.Mono)); apart.Abs() > 400*time.Millisecond {
		t.Errorf("%s apart", apart)
	}
}

func TestOldReadingIsPassedOver(t *testing.T) {
	w := newWorld()
	c := New(w.Reading, Config{})
	old := w.Reading
	c.Observe(w.pass(time.Minute))
	old.Wall = old.Wall.Add(time.Hour)
	if step, stepped := c.Observe(old); stepped || c.Offset() != 0 {
		t.Errorf("reported %v, offset %s", step, c.Offset())
	}
}

func TestEpochAndLocal(t *testing.T) {
	w := newWorld()
	c := New(w.Reading, Config{})
	w.step(-time.Hour)
	c.Observe(w.pass(time.Second))
	local := c.At(w.Mono)
	if got := c.Epoch(local); got != start.Add(time.Second-time.Hour) {
		t.Errorf("epoch %s", got)
	}
	if got := c.Local(c.Epoch(local)); got != local {
		t.Errorf("there and back: %s, want %s", got, local)
	}
}

// TestNowNeverGoesBack feeds readings of all kinds, sane and not.
func TestNowNeverGoesBack(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		w := newWorld()
		c := New(w.Reading, Config{Align: time.Duration(1+r.IntN(60)) * time.Second})
		last, lastMono := c.At(w.Mono), w.Mono
		var lastSlot uint32
		for range 100 {
			passed := time.Duration(r.Int64N(int64(time.Second) << r.IntN(12)))
			switch r.IntN(6) {
			case 0:
				w.step(time.Duration(r.Int64()) >> r.IntN(63))
			case 1:
				w.step(-time.Duration(r.Int64()) >> r.IntN(63))
			case 2:
				w.Wall = []time.Time{{}, time.Unix(0, 0), time.Unix(math.MaxInt32, 0), time.Unix(1<<40, 0), start}[r.IntN(5)]
			}
			if r.IntN(3) == 0 {
				c.Correct(time.Duration(r.Int64N(int64(2*MaxCorrection))) - MaxCorrection)
			}
			w.Mono += passed
			w.step(passed)
			if r.IntN(2) == 0 {
				c.Observe(Reading{Wall: w.Wall, Mono: w.Mono - time.Duration(r.Int64N(int64(settle)))})
			}
			now := c.At(w.Mono)
			elapsed := w.Mono - lastMono
			if now.Before(last) || now.Sub(last) > elapsed+slewed(elapsed)+2 {
				t.Fatalf("%s after %s, and %s of the monotonic clock", now, last, elapsed)
			}
			if slot := Slot(now, 5); slot < lastSlot {
				t.Fatalf("slot %d after %d", slot, lastSlot)
			} else {
				lastSlot = slot
			}
			last, lastMono = now, w.Mono
		}
	}
}

// TestNeverFrozen: whatever the wall clock does, local time runs at the
// monotonic clock's pace within SlewRate.
func TestNeverFrozen(t *testing.T) {
	w := newWorld()
	c := New(w.Reading, Config{})
	for i := range 1000 {
		w.step(time.Duration(i%7-3) * 41 * time.Minute)
		c.Correct(time.Duration(i%5-2) * time.Second)
		before := c.At(w.Mono)
		c.Observe(w.pass(time.Second))
		got := c.At(w.Mono).Sub(before)
		if off := (got - time.Second).Abs(); off > slewed(time.Second) {
			t.Fatalf("%s passed in a second", got)
		}
	}
}

func TestConcurrent(t *testing.T) {
	c := New(Read(), Config{})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			last := c.Now()
			for i := range 2000 {
				if g == 0 {
					r := Read()
					r.Wall = r.Wall.Add(time.Duration(i%5) * time.Second)
					c.Correct(time.Duration(i%3) * time.Second)
					c.Observe(r)
				}
				now := c.Now()
				if now.Before(last) {
					t.Errorf("%s after %s", now, last)
				}
				last = now
				c.Epoch(now)
			}
		})
	}
	all.Wait()
}

func TestSlewedDoesNotOverflow(t *testing.T) {
	for span, want := range map[time.Duration]time.Duration{
		0: 0, time.Millisecond: 500, time.Second: 500 * time.Microsecond, 1999: 0, 2000: 1,
		math.MaxInt64: math.MaxInt64 / 2000,
	} {
		if got := slewed(span); got != want {
			t.Errorf("%d: got %d, want %d", span, got, want)
		}
	}
}

func TestNowAllocatesNothing(t *testing.T) {
	c := New(Read(), Config{})
	if n := testing.AllocsPerRun(100, func() { c.Now() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestRunsDoNotQueueUp: a clock keeps one course and the one before it.
func TestRunsDoNotQueueUp(t *testing.T) {
	w := newWorld()
	c := New(w.Reading, Config{})
	for i := range 1000 {
		c.Observe(w.pass(time.Duration(i%3) * time.Second))
		if r := c.run.Load(); r.before != nil && r.before.before != nil {
			t.Fatal("a course is kept that nobody can ask for")
		}
	}
}
