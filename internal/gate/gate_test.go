package gate

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// No more work than there are places, and all of it is done.
func TestFewTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(2)
		var mu sync.Mutex // guards what is below
		within, most, done := 0, 0, 0
		for range 20 {
			go g.Do(func() {
				mu.Lock()
				within++
				most = max(most, within)
				mu.Unlock()
				time.Sleep(longest / 2)
				mu.Lock()
				defer mu.Unlock()
				within--
				done++
			})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if most != 2 || done != 20 {
			t.Errorf("%d together, %d done", most, done)
		}
	})
}

// Who came first goes first: a scrape waits for those before it, however many follow.
func TestInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1)
		var order []int
		for i := range 20 {
			go g.Do(func() {
				order = append(order, i)
				time.Sleep(longest / 2)
			})
			synctest.Wait()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !slices.IsSorted(order) || len(order) != 20 {
			t.Errorf("they went as %v", order)
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
