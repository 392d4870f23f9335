package server

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
)

// What is answered here goes through the process's gate: of twenty requests at once, few
// are under way together.
func TestRequestsPassTheGate(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	within, most := 0, 0
	var mu sync.Mutex // guards them
	add := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		within += n
		most = max(most, within)
	}
	b := &BoundedServer{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		add(1)
		for range 100 {
			runtime.Gosched() // the others' turn, if nothing holds them
		}
		add(-1)
	})}
	handler := b.httpServer(t.Context()).Handler
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) })
	}
	wg.Wait()
	if most > 10 {
		t.Errorf("%d requests were under way together", most)
	}
}
