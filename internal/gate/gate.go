// Package gate keeps work that no request of a site waits for from taking all processors.
//
// A goroutine that works keeps its processor for 10 ms before the next one's turn. Twenty
// connections that ask without a pause are twenty such goroutines, and a question about a
// request would wait until each had had its turn: longer than a proxy waits. So all that
// is not a decision goes through one gate, which lets in few of them together. What waits
// at the gate is no goroutine that a decision must wait for.
package gate

import (
	"net/http"
	"runtime"
	"time"
)

// longest is how long a place is held. Work that takes longer, or waits for its client, for
// a stream's next event or for another node, keeps on, and its place is free for others.
// Without this bound a client that does not read its answer would close the gate. To give
// the place back at each such wait would have to be thought of in each handler.
const longest = 10 * time.Millisecond

// Gate lets in as many as it has places. It is safe for concurrent use. Make one with [New].
type Gate struct{ places chan struct{} }

// Shared is the gate of this process, a quarter of its processors.
var Shared = New(max(1, runtime.GOMAXPROCS(0)/4))

// New returns a gate.
func New(places int) *Gate { return &Gate{places: make(chan struct{}, places)} }

// Do does something once there is a place for it. Those who wait go in the order in which
// they came.
func (g *Gate) Do(work func()) {
	g.places <- struct{}{}
	late := time.AfterFunc(longest, g.leave)
	defer func() {
		if late.Stop() {
			g.leave()
		}
	}()
	work()
}

func (g *Gate) leave() { <-g.places }

// Handler returns a handler whose requests go through the gate.
func (g *Gate) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.Do(func() { next.ServeHTTP(w, r) })
	})
}
