package packet

import (
	"io"
	"sync/atomic"
)

// counter counts the bytes that are read through it. Its count is safe for
// concurrent use.
type counter struct {
	src  io.Reader
	read atomic.Int64
}

// Read implements io.Reader.
func (c *counter) Read(b []byte) (int, error) {
	n, err := c.src.Read(b)
	c.read.Add(int64(n))
	return n, err
}
