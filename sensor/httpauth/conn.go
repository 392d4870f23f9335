package httpauth

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"edgeguard/internal/lobby"
)

// conn is a proxy's connection: it knows its peer, and whether a request is
// being answered, so that a drain immediately closes only what is idle.
type conn struct {
	*lobby.Conn
	peer netip.Addr // the zero Addr for a unix socket
	// buffer is the HTTP reader's own. full is a copy, made when a read has filled
	// it: the beginning of a request whose header may be over the limit, see
	// Server.countLong. By then the reader is another connection's.
	buffer, full []byte
	busy         atomic.Bool
	gone         bool // its peer had hung up before an answer was written
	written      bool // the answer to the last request, so that no other is in buffer
	turn         uint // how many requests were answered
}

// late is how long a question may wait. nginx waits as long by the snippet, and lets the
// request pass.
const late = 100 * time.Millisecond

// mostInTurn is how many requests of a connection are answered, each read alone, before it
// is the turn of others.
const mostInTurn = 16

// Write notes whether the peer still waits for the answer.
func (c *conn) Write(p []byte) (int, error) {
	c.written = true
	n, err := c.Conn.Write(p)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		c.gone = true
	}
	return n, err
}

// tooLate reports whether the last question of a connection that ends was answered too
// late. A proxy that has waited for as long as it does hangs up, so that only the last one
// can have been. To look at each would cost each a call of the kernel.
func (c *conn) tooLate() bool { return c.gone || c.Waited() >= late }

// Read notes that a request has begun. The first p of a connection is all of
// its reader's buffer.
func (c *conn) Read(p []byte) (int, error) {
	if c.buffer == nil {
		c.buffer = p
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.busy.Store(true)
		if n == len(p) {
			c.full = append(c.full[:0], c.buffer...)
		}
	}
	return n, err
}

// converse serves one connection to its end.
func (s *Server) converse(c *conn) {
	defer func() {
		if v := recover(); v != nil {
			s.asker.ReportPanic("a connection panicked and was closed", v)
		}
		if c.tooLate() {
			s.stats.late.Add(1)
		}
		s.conns.Close(c)
		c.Leave()
	}()
	// The error is the peer's hanging up or a request that unreadable has
	// answered and counted.
	_ = s.http.ServeConn(c)
}

// connState is called when a request has been answered.
func (s *Server) connState(nc net.Conn, state fasthttp.ConnState) {
	if state != fasthttp.StateIdle {
		return // fasthttp calls a connection active before its first byte: see Read
	}
	c := nc.(*conn)
	c.busy.Store(false)
	c.Answered()
	// Many requests may have come together. Each connection answers one, and then it is the
	// turn of others: it would go on until the runtime stops it, after 10 ms, and twenty
	// that do so keep a proxy waiting for longer than it waits. What was asked alone is
	// written by now, and its connection will wait by itself. To yield there, too, wakes a
	// thread for nothing: a fifth of what a request takes over one connection. A client that
	// sends the next one while it is answered never waits: therefore mostInTurn.
	if c.turn++; !c.written || c.turn%mostInTurn == 0 {
		runtime.Gosched()
	}
	c.written = false
	if s.conns.Draining() { // it went idle after the drain looked at it
		_ = c.Close()
	}
}
