package lobby

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// passing is an error such as that of too many open files.
type passing struct{ error }

func (passing) Temporary() bool { return true }

// broken is a listener that fails so often before it has a connection, and then for
// good.
type broken struct {
	net.Listener
	fails int
	conn  net.Conn
	last  error
}

func (b *broken) Accept() (net.Conn, error) {
	switch {
	case b.fails > 0:
		b.fails--
		return nil, passing{errors.New("too many open files")}
	case b.conn != nil:
		c := b.conn
		b.conn = nil
		return c, nil
	}
	return nil, b.last
}

// Errors that may pass are waited for, longer each time, and a lasting one ends.
func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		gone := errors.New("gone")
		begun, served := time.Now(), 0
		err := Listen(&broken{fails: 10, conn: near, last: gone}, 1, "").Each(func() bool { return false }, func(c *Conn) {
			served++
			_ = c.Close()
			c.Leave()
		})
		if !errors.Is(err, gone) || served != 1 {
			t.Errorf("%d connections, then %v", served, err)
		}
		want := 2 * longestPause // 5, 10, 20 … 640 ms, then at most a second each
		for pause := firstPause; pause < longestPause; pause *= 2 {
			want += pause
		}
		if took := time.Since(begun); took != want {
			t.Errorf("it waited %v, want %v", took, want)
		}
	})
}

// What is over ends without an error, whatever the listener says.
func TestEachIsOver(t *testing.T) {
	over := false
	l := Listen(&broken{last: net.ErrClosed}, 1, "")
	if err := l.Each(func() bool { was := over; over = true; return was }, nil); err != nil {
		t.Error(err)
	}
}
