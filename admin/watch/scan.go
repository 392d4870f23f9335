package watch

import (
	"context"
	"sync"
	"time"
)

// One look at all keys is shared among all who ask for it, so that fifty open pages
// cost as much as one. Where nobody asks, nothing is looked at.

const (
	// lifetime is how long the result of a look is used.
	lifetime = time.Second
	// rest is how many times as long as it took a result is used at least, so that
	// looks take no more than a twenty-fifth of one core: a look at ten million keys
	// takes most of a second, and open pages may not cost a busy node a request in
	// thirty.
	rest = 25
	// kept is how long a result that nobody asks for is kept.
	kept = time.Minute
)

// Shared shares looks by their key. Looks are made one at a time, so that clients
// cannot keep all cores busy by asking. It is safe for concurrent use. Make one
// with [NewShared].
type Shared[K comparable] struct {
	now func() time.Time
	one chan struct{} // holds one while a look is made

	mu    sync.Mutex // guards looks
	looks map[K]*look
}

// look is one look; its fields may be read when done is closed.
type look struct {
	done   chan struct{}
	result any // nil if the look panicked
	asOf   time.Time
	took   time.Duration
}

// NewShared returns a Shared that goes by a clock.
func NewShared[K comparable](now func() time.Time) *Shared[K] {
	return &Shared[K]{now: now, one: make(chan struct{}, 1), looks: make(map[K]*look)}
}

// Look returns the result of do, or that of another call for the same key which
// is still fresh or under way, and the time of which it is. ok is false if ctx
// ended first.
func Look[K comparable, V any](ctx context.Context, s *Shared[K], key K, do func(now time.Time) V) (result V, asOf time.Time, ok bool) {
	for {
		l, mine := s.claim(key)
		if mine {
			s.run(ctx, key, l, func(now time.Time) any { return do(now) })
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return result, asOf, false
		}
		if result, ok = l.result.(V); ok {
			return result, l.asOf, true
		}
		if ctx.Err() != nil { // else who claimed the look has gone, and this one makes it
			return result, asOf, false
		}
	}
}

// claim returns the look to wait for, and whether the caller has to make it.
func (s *Shared[K]) claim(key K) (l *look, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for k, l := range s.looks {
		if l.over(now, kept, 0) {
			delete(s.looks, k)
		}
	}
	if l = s.looks[key]; l != nil && !l.over(now, lifetime, rest) {
		return l, false
	}
	l = &look{done: make(chan struct{})}
	s.looks[key] = l
	return l, true
}

// over reports whether a look was made longer ago than this, and than so many times
// as long as it took. One under way is not.
func (l *look) over(now time.Time, ago, times time.Duration) bool {
	select {
	case <-l.done:
		ago = max(ago, times*l.took)
		age := now.Sub(l.asOf) - l.took
		return age >= ago || age < -ago // the clock may have stepped
	default:
		return false
	}
}

// run makes a look when it is its turn, and gives it up if ctx ends before. What
// is under way is not ended: others may wait for it.
func (s *Shared[K]) run(ctx context.Context, key K, l *look, do func(now time.Time) any) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if l.result == nil && s.looks[key] == l { // given up, or it panicked
			delete(s.looks, key)
		}
		close(l.done)
	}()
	select {
	case s.one <- struct{}{}:
		defer func() { <-s.one }()
	case <-ctx.Done():
		return
	}
	l.asOf = s.now()
	result := do(l.asOf)
	l.took = s.now().Sub(l.asOf)
	l.result = result
}
