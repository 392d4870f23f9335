package gate

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// No more work than there are places, and all of it is done, in the order in which it came.
func TestFewTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(2)
		var within, most atomic.Int32
		var mu sync.Mutex // guards order
		var order []int
		for i := range 20 {
			go g.Do(func() {
				most.Store(max(most.Load(), within.Add(1)))
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(longest / 2)
				within.Add(-1)
			})
			synctest.Wait()
		}
		time.Sleep(time.Second)
		if most.Load() != 2 || len(order) != 20 {
			t.Fatalf("%d together, of %d", most.Load(), len(order))
		}
		for i, at := range order {
			if i != at {
				t.Fatalf("they went as %v", order)
			}
		}
	})
}

// Work that waits for something does not close the gate, and gives back one place alone.
func TestWhoWaitsIsPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1)
		ended := make(chan struct{})
		for range 3 { // streams, say
			go g.Do(func() { <-ended })
		}
		begun := time.Now()
		g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(httptest.NewRecorder(), nil)
		if took := time.Since(begun); took > 3*longest {
			t.Errorf("it waited %v for what waits", took)
		}
		close(ended)
		synctest.Wait()
		if len(g.places) != 0 {
			t.Errorf("%d places are held", len(g.places))
		}
	})
}

// A panic gives its place back.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1)
		func() {
			defer func() { _ = recover() }()
			g.Do(func() { panic("broken") })
		}()
		time.Sleep(time.Second) // no late timer takes what is another's
		if len(g.places) != 0 {
			t.Error("the place is held")
		}
	})
}
