package watch

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fifty calls of Look for one key return how many looks they made, and what they
// got.
func fifty(t *testing.T, s *Shared[string], takes time.Duration, looks *atomic.Int64) (got []int64) {
	t.Helper()
	var mu sync.Mutex
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() {
			n, asOf, ok := Look(t.Context(), s, "site", func(time.Time) int64 {
				time.Sleep(takes)
				return looks.Add(1)
			})
			if !ok || asOf.IsZero() {
				t.Errorf("no result: %v", asOf)
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, n)
		})
	}
	calls.Wait()
	return got
}

// Fifty who ask together cost one look, and so do all who ask while it is fresh.
func TestScanOneLookForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, looks := NewShared[string](time.Now), new(atomic.Int64)
		for round, pause := range []time.Duration{0, lifetime - 1, 1, 10 * time.Minute} {
			time.Sleep(pause)
			want := []int64{1, 1, 2, 3}[round]
			for _, n := range fifty(t, s, 20*time.Millisecond, looks) {
				if n != want {
					t.Fatalf("round %d: got look %d, want %d", round, n, want)
				}
			}
		}
	})
}

// A look that takes long is used for longer: looks take a twenty-fifth of one core at most.
func TestLongLooksAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, looks := NewShared[string](time.Now), new(atomic.Int64)
		begun := time.Now()
		for time.Since(begun) < time.Minute {
			fifty(t, s, time.Second, looks)
			time.Sleep(100 * time.Millisecond)
		}
		if n := looks.Load(); n < 2 || n > 3 {
			t.Errorf("%d looks of a second in a minute", n)
		}
	})
}

// Looks at two keys are made one after the other, and results nobody asks for are
// forgotten.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewShared[string](time.Now)
		var under atomic.Int64
		var calls sync.WaitGroup
		for _, key := range []string{"a", "b", "c"} {
			calls.Go(func() {
				Look(t.Context(), s, key, func(time.Time) bool {
					if under.Add(1) > 1 {
						t.Error("two looks together")
					}
					time.Sleep(time.Millisecond)
					under.Add(-1)
					return true
				})
			})
		}
		calls.Wait()
		time.Sleep(2 * kept)
		Look(t.Context(), s, "a", func(time.Time) bool { return true })
		if len(s.looks) != 1 {
			t.Errorf("%d results are kept", len(s.looks))
		}
	})
}

// Who goes away while he waits for his turn keeps nobody else from the result.
func TestWhoClaimedItGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewShared[string](time.Now)
		first, leave := context.WithCancel(t.Context())
		hold := make(chan struct{})
		var calls sync.WaitGroup
		calls.Go(func() { Look(t.Context(), s, "other", func(time.Time) int { <-hold; return 0 }) })
		synctest.Wait()
		calls.Go(func() {
			if _, _, ok := Look(first, s, "site", func(time.Time) int { t.Error("looked, though he has gone"); return 1 }); ok {
				t.Error("a result without a look")
			}
		})
		synctest.Wait() // the first has claimed the look
		calls.Go(func() {
			if n, _, ok := Look(t.Context(), s, "site", func(time.Time) int { return 2 }); !ok || n != 2 {
				t.Errorf("the second got %d, %v", n, ok)
			}
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		close(hold)
		calls.Wait()
	})
}

// A look that panics keeps nobody waiting, and the next one is made.
func TestScanPanic(t *testing.T) {
	s := NewShared[string](time.Now)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		Look(t.Context(), s, "site", func(time.Time) int { panic("broken") })
	}()
	if n, _, ok := Look(t.Context(), s, "site", func(time.Time) int { return 2 }); !ok || n != 2 {
		t.Errorf("after a panic: %d, %v", n, ok)
	}
}
