package lobby

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Serving is the connections of a server with one listener, which it serves once. Its methods
// are safe for concurrent use.
type Serving[C interface {
	comparable
	io.Closer
}] struct {
	name, full string
	most       int

	draining atomic.Bool
	mu       sync.Mutex // guards what is below
	listener *Listener
	open     map[C]struct{}
	ended    chan struct{} // closed when Serve has returned
}

// NewServing returns those of a server with a name for errors. At most so many are open; one
// that is turned away is sent what is in full.
func NewServing[C interface {
	comparable
	io.Closer
}](name string, most int, full string) *Serving[C] {
	return &Serving[C]{name: name, most: most, full: full, open: map[C]struct{}{}, ended: make(chan struct{})}
}

// Stats says what was done to keep the connections within their bound.
func (s *Serving[C]) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return Stats{}
	}
	return s.listener.Stats()
}

// Draining reports whether Shutdown was called.
func (s *Serving[C]) Draining() bool { return s.draining.Load() }

// Serve serves what comes to a listener, TCP or unix, until Shutdown, and then returns nil; or
// until the listener fails for good, with the reason. Each connection has a goroutine, whose
// serve calls Close at its end. All have ended and the listener is closed when it returns.
func (s *Serving[C]) Serve(nl net.Listener, begin func(*Conn) C, serve func(C)) error {
	l := Listen(nl, s.most, s.full)
	s.mu.Lock()
	if s.listener != nil {
		s.mu.Unlock()
		return errors.New(s.name + ": this server was used before: make one for each listener")
	}
	s.listener = l
	s.mu.Unlock()
	defer close(s.ended)
	defer l.Close()

	var wg sync.WaitGroup
	defer wg.Wait()
	err := l.Each(s.draining.Load, func(lc *Conn) {
		c := begin(lc)
		s.mu.Lock()
		s.open[c] = struct{}{}
		s.mu.Unlock()
		wg.Go(func() { serve(c) })
	})
	if err != nil {
		s.each(func(c C) { _ = c.Close() })
		return fmt.Errorf("%s: accept on %v: %w", s.name, l.Addr(), err)
	}
	return nil
}

// Close closes a connection that has ended.
func (s *Serving[C]) Close(c C) {
	_ = c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// Shutdown closes the listener, has each connection end by wake, and returns when Serve is about
// to. When ctx ends first, it closes what is left and says so.
func (s *Serving[C]) Shutdown(ctx context.Context, wake func(C)) error {
	s.draining.Store(true)
	s.mu.Lock()
	l := s.listener
	s.mu.Unlock()
	if l == nil {
		return nil // Serve, if it is called, returns immediately
	}
	_ = l.Close()
	s.each(wake)
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		s.each(func(c C) { _ = c.Close() })
		return fmt.Errorf("%s: drain: %w", s.name, ctx.Err())
	}
}

func (s *Serving[C]) each(do func(C)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		do(c)
	}
}
