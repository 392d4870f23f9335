package redistest

import (
	"net"
	"sync"
	"sync/atomic"
)

// pair is one connection through a [Proxy]: its two halves end together.
type pair struct {
	client, server net.Conn
	gap            atomic.Bool // bytes were swallowed
	once           sync.Once
}

// cut resets both halves.
func (c *pair) cut() {
	c.once.Do(func() {
		reset(c.client)
		reset(c.server)
	})
}

// finish closes the half that was written to in order, so that what it was
// sent arrives, and resets the other.
func (c *pair) finish(written net.Conn) {
	c.once.Do(func() {
		_ = written.Close()
		if written == c.client {
			reset(c.server)
		} else {
			reset(c.client)
		}
	})
}

// reset closes a connection without the farewell of an orderly close.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
