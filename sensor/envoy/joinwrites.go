package envoy

import (
	"net"
	"runtime"
	"sync"
	"time"
)

// What a connection is given in parts is written together. An HTTP/2 server of net/http writes
// an answer in three parts, its header, its message and its trailer, and each would be a call
// of the kernel that wakes the other side.

const (
	// most bounds what waits to be written, unless one part is longer.
	most = 64 << 10
	// farewell is how long a connection that is closed has for what it still sends.
	farewell = 100 * time.Millisecond
)

// joinedConn is a connection that writes soon, and not at once. It has a bound in time of its own
// for its writes: a deadline for these is not set.
type joinedConn struct {
	net.Conn
	within time.Duration

	mu      sync.Mutex // guards what is below
	changed sync.Cond
	next    []byte    // what is written next
	busy    bool      // something is being written, or is about to be
	closing bool      // the deadline is the last
	err     error     // of a write
	by      time.Time // the deadline that is set
}

// joinWrites returns a connection that writes to c. One whose other side takes nothing for a time
// of within to twice within is closed.
func joinWrites(c net.Conn, within time.Duration) *joinedConn {
	j := &joinedConn{Conn: c, within: within}
	j.changed.L = &j.mu
	return j
}

// SetWriteDeadline does nothing.
func (*joinedConn) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline sets that of reads.
func (c *joinedConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// Write takes what is to be sent. An error is that of an earlier part.
func (c *joinedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && len(c.next) > 0 && len(c.next)+len(p) > most {
		c.changed.Wait()
	}
	switch {
	case c.err != nil:
		return 0, c.err
	case c.closing:
		return 0, net.ErrClosed
	}
	c.next = append(c.next, p...)
	if !c.busy {
		c.busy = true
		go c.send()
	}
	return len(p), nil
}

// send writes until nothing is left.
func (c *joinedConn) send() {
	var out []byte
	for {
		runtime.Gosched() // the next part is under way
		if out = c.take(out[:0]); out == nil {
			return
		}
		if _, err := c.Conn.Write(out); err != nil {
			c.mu.Lock()
			c.err = err
			c.mu.Unlock()
			_ = c.Conn.Close() // for who reads from it to notice
		}
	}
}

// take returns all that waits, or nil and ends the writing. The room is used for what comes
// next, also after that end: an answer is mostly all that there is.
func (c *joinedConn) take(room []byte) (out []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed.Broadcast()
	if len(c.next) == 0 || c.err != nil {
		c.busy = false
		if cap(c.next) < cap(room) && cap(room) <= most {
			c.next = room
		}
		return nil
	}
	// A deadline is set about once in its time, because setting it is not free.
	if now := time.Now(); !c.closing && c.by.Sub(now) < c.within {
		c.by = now.Add(2 * c.within)
		_ = c.Conn.SetWriteDeadline(c.by) // an error is that of the write, too
	}
	out, c.next = c.next, room
	return out
}

// Close gives what is being written a moment, and closes the connection.
func (c *joinedConn) Close() error {
	c.mu.Lock()
	if !c.closing {
		c.closing = true
		_ = c.Conn.SetWriteDeadline(time.Now().Add(farewell))
	}
	for c.busy && c.err == nil {
		c.changed.Wait()
	}
	c.mu.Unlock()
	return c.Conn.Close()
}
