// Package lobby bounds the connections of a listener. When it is full it chooses which
// one to close, so that a client that only holds connections keeps no other out.
//
// A connection waits until its first request has been read, then it is answered,
// and then it idles until the next. When there is no room for a new one, one of
// the others is closed:
//
//  1. one that has not asked anything for a moment, the oldest first;
//  2. one that asked and has been idle for a moment, the one that asked the longest
//     ago first: a proxy that works has asked just now;
//  3. one that came within the moment, or else asked within it. If new ones were
//     spared here, every client that asked once would keep them out;
//  4. one whose answer takes longer than [slow], the longest first: its client does
//     not read, or it is a stream.
//
// Of the first three, a connection whose request has begun to arrive is passed over
// while there are others, and one with bytes that were not read yet while there are
// any others of the three: then it is this program that is late. Otherwise, on a
// busy machine, a proxy that asks just now would lose to a client that opens
// connections without end.
//
// Only when all are being answered is the new one turned away.
package lobby

import (
	"container/list"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// slow is how long an answer may take before its connection may be closed for
// another. A verdict takes microseconds: forward auth never loses one so.
const slow = 5 * time.Second

// moment is how long a new connection has to ask.
const moment = 100 * time.Millisecond

// mostLooks bounds the connections that are looked into to choose one.
const mostLooks = 16

// Listener is a listener with a bounded number of connections. Its methods are
// safe for concurrent use. Make one with [Listen].
type Listener struct {
	net.Listener
	refusal string
	places  chan struct{} // holds one for each connection

	mu      sync.Mutex // guards what is below
	conns   map[*Conn]struct{}
	waiting list.List // of *Conn, the oldest first

	closed, refused atomic.Uint64
}

// Stats says what a listener had to do to stay in its bound. Both count up from
// the start.
type Stats struct {
	Open    int    // connections now
	Closed  uint64 // to make room for others
	Refused uint64 // new ones, while all others were being answered
}

// Listen bounds the connections of l to places, at least 1. A connection that is
// turned away is sent the refusal first.
//
// [Conn.Leave] must be called on every connection that Accept returns, a [*Conn],
// once its server is done with it: a closed one's place, and its file descriptor,
// are free only then.
func Listen(l net.Listener, places int, refusal string) *Listener {
	return &Listener{Listener: l, refusal: refusal, places: make(chan struct{}, max(places, 1)), conns: make(map[*Conn]struct{})}
}

// Stats reads the counters.
func (l *Listener) Stats() Stats {
	return Stats{Open: len(l.places), Closed: l.closed.Load(), Refused: l.refused.Load()}
}

// Accept waits for the next connection for which there is room.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		now := time.Now()
		if l.makeRoom(now) {
			return l.enter(c, now), nil
		}
		l.refused.Add(1)
		_ = c.SetWriteDeadline(time.Now().Add(time.Second)) // its buffer is empty: it never waits
		_, _ = c.Write([]byte(l.refusal))
		_ = c.Close()
	}
}

// makeRoom takes a place, if need be that of another, whose server notices at
// once that it was closed.
func (l *Listener) makeRoom(now time.Time) bool {
	select {
	case l.places <- struct{}{}:
		return true
	default:
	}
	c := l.choose(now)
	if c == nil {
		return false
	}
	l.closed.Add(1)
	_ = c.Close()
	l.places <- struct{}{}
	return true
}

func (l *Listener) enter(nc net.Conn, now time.Time) *Conn {
	c := &Conn{Conn: nc, lobby: l, came: now}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
	c.seat = l.waiting.PushBack(c)
	return c
}

// choose shows out the connection that is missed the least; nil if there is
// none.
func (l *Listener) choose(now time.Time) *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := now.Add(-moment)
	if c := l.silent(before); c != nil {
		return c
	}
	for {
		c, state := l.longest(now)
		if c == nil || state != idles || c.asked.Load() > before.UnixNano() {
			if young := l.silent(now); young != nil {
				return young
			}
		}
		if c == nil || state != idles {
			if asks := l.oldest(); asks != nil {
				return asks
			}
		}
		if c == nil || c.state.CompareAndSwap(state, out) {
			return c
		}
	}
}

// silent shows out the oldest that came before a time and has sent nothing, or
// else the oldest whose request has begun and does not go on. One with bytes that
// nobody has read is spared: it is this program that is late, however old it is.
// It needs the lock.
func (l *Listener) silent(before time.Time) *Conn {
	var began *Conn
	looks := 0
	for e := l.waiting.Front(); e != nil && looks < mostLooks; {
		c := e.Value.(*Conn)
		e = e.Next()
		if c.came.After(before) {
			break
		}
		looks++
		switch {
		case pending(c.Conn):
		case c.began.Load():
			if began == nil {
				began = c
			}
		case l.showOut(c):
			return c
		}
	}
	if began != nil && l.showOut(began) {
		return began
	}
	return nil
}

// oldest shows out the oldest that waits, also one whose request has come. It
// needs the lock.
func (l *Listener) oldest() *Conn {
	for e := l.waiting.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*Conn); l.showOut(c) {
			return c
		}
	}
	return nil
}

// showOut takes a connection that waits for closing, and reports false if its
// request was read just now. It needs the lock.
func (l *Listener) showOut(c *Conn) bool {
	if !c.state.CompareAndSwap(waits, out) {
		return false
	}
	l.leaveSeat(c)
	return true
}

// longest returns the idle connection that asked the longest ago, or else the one
// whose answer takes too long. It needs the lock.
func (l *Listener) longest(now time.Time) (found *Conn, state int32) {
	for range mostLooks {
		var since int64
		found, state = nil, 0
		for c := range l.conns {
			s, asked := c.state.Load(), c.asked.Load()
			late := s == answered && now.Sub(time.Unix(0, asked)) > slow
			if s != idles && !late || found != nil && (s > state || s == state && asked >= since) {
				continue
			}
			found, state, since = c, s, asked
		}
		if found == nil || state != idles || !pending(found.Conn) {
			break
		}
		found.asked.Store(now.UnixNano()) // it asks just now
	}
	return found, state
}

// leaveSeat takes a connection off those that wait. It needs the lock.
func (l *Listener) leaveSeat(c *Conn) {
	if c.seat != nil {
		l.waiting.Remove(c.seat)
		c.seat = nil
	}
}

// The states of a connection, in the order in which they go.
const (
	waits int32 = iota
	idles
	answered // a request was read and its answer is not written yet
	out      // it was closed for another
)

// Conn is a connection that holds a place. One goroutine serves it.
type Conn struct {
	net.Conn
	lobby *Listener
	came  time.Time
	seat  *list.Element // while it waits; guarded by the lobby's lock
	state atomic.Int32
	began atomic.Bool  // its first request has begun to come
	asked atomic.Int64 // when its last request was read, or began to be, in Unix nanoseconds
}

// Read notes that a request has begun.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		switch c.state.Load() {
		case waits:
			c.began.Store(true)
		case idles:
			c.asked.Store(time.Now().UnixNano())
		}
	}
	return n, err
}

// SyscallConn returns the socket, for who asks who its other side is.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	socket, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.New("the connection is no socket")
	}
	return socket.SyscallConn()
}

// Asks notes that a whole request has been read, and reports false if the
// connection was closed for another just before: the answer would get lost.
func (c *Conn) Asks(now time.Time) bool {
	c.asked.Store(now.UnixNano())
	if c.state.CompareAndSwap(idles, answered) {
		return true
	}
	if !c.state.CompareAndSwap(waits, answered) {
		return c.state.Load() == answered
	}
	c.lobby.mu.Lock()
	defer c.lobby.mu.Unlock()
	c.lobby.leaveSeat(c)
	return true
}

// Answered notes that the answer has been written.
func (c *Conn) Answered() { c.state.CompareAndSwap(answered, idles) }

// Leave gives back the place. A second call does nothing.
func (c *Conn) Leave() {
	l := c.lobby
	l.mu.Lock()
	_, held := l.conns[c]
	delete(l.conns, c)
	l.leaveSeat(c)
	l.mu.Unlock()
	if held {
		<-l.places
	}
}
