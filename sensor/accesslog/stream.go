package accesslog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/internal/sleep"
	"edgeguard/logline"
)

// accept serves connections until ctx ends.
func (l *Listener) accept(ctx context.Context) error {
	var open sync.WaitGroup
	defer open.Wait()
	var pause time.Duration
	for {
		conn, err := l.stream.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("listen at %q: %w", l.config.Address, err)
		case err != nil: // no file descriptors left, mostly
			l.in.troubles.set(atSocket, fmt.Errorf("%s: %w; retrying", l.config.Address, err))
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			sleep.For(ctx, pause)
			continue
		}
		pause = 0
		l.in.troubles.set(atSocket, nil)
		select {
		case l.slots <- struct{}{}:
			open.Go(func() { l.serve(ctx, conn) })
		default:
			_ = conn.Close()
			l.count(func(s *ListenStats) { s.Refused++ })
			l.in.troubles.set(atConnections, fmt.Errorf("%s: over %d connections: new ones are closed", l.config.Address, cap(l.slots)))
		}
	}
}

// serve reads the lines of one connection. It decides what has come as soon as a
// line is whole, and up to a block of them together.
func (l *Listener) serve(ctx context.Context, conn net.Conn) {
	l.count(func(s *ListenStats) { s.Connections++ })
	stop := context.AfterFunc(ctx, func() { interrupt(conn) })
	defer stop()
	defer func() {
		_ = conn.Close()
		<-l.slots
		l.in.troubles.set(atConnections, nil)
	}()
	src := &cutOff{Reader: &frames{Reader: bufio.NewReaderSize(conn, framesRoom), dropped: func(lines uint64) {
		l.count(func(s *ListenStats) { s.Dropped += lines })
	}}}
	b := blocks{src: src, live: true}
	p := &page{buf: make([]byte, blockSize), own: new(parsing), Chunk: logline.Chunk{Long: new(logline.Long)}}
	for b.err == nil {
		p.Text = b.next(p.buf)
		if p.GoesOn = b.goesOn; len(p.Text) > 0 {
			l.take(p)
		}
	}
	if src.inside || errors.Is(b.err, errFrame) {
		l.broken(p)
	}
}

// broken counts a line whose end did not come. Of one that is longer than a
// block, the beginning may have been used.
func (l *Listener) broken(p *page) {
	l.count(func(s *ListenStats) { s.Broken++ })
	if p.Long.Open() && !p.Long.Streams() {
		return
	}
	l.deciding.Lock()
	defer l.deciding.Unlock()
	p.Uncounted = append(p.Uncounted[:0], edgeguard.Uncounted{Reason: edgeguard.LineUnended})
	l.in.tell(l.config.Now(), p)
}

// interrupt ends the reading of a connection. Of a unix socket what has arrived is still read, and no
// more can be sent; of TCP more could, for ever.
func interrupt(conn net.Conn) {
	if unix, ok := conn.(*net.UnixConn); ok {
		_ = unix.CloseRead()
		return
	}
	_ = conn.SetReadDeadline(longAgo)
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// cutOff makes an error of the end of a connection, so that a line without its
// newline is dropped: half an address is another address.
type cutOff struct {
	io.Reader
	inside bool // a line that has begun
}

func (c *cutOff) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if n > 0 {
		c.inside = b[n-1] != '\n'
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
