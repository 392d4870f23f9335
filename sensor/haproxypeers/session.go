package haproxypeers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"edgeguard/haproxy"
	"edgeguard/haproxy/peers"
	"edgeguard/internal/sleep"
)

const (
	// readPause is how long a session waits between two reads. HAProxy and edgeguard
	// both save the work of a message for each request, and keys that are counted
	// meanwhile are sent once. It is little beside a slot of five seconds.
	readPause = 20 * time.Millisecond
	// readBuffer has room for the longest message, and for what comes in a pause.
	readBuffer = 256 << 10
	// heartbeatEvery is how long a side may be silent before it sends a heartbeat.
	heartbeatEvery = 3 * time.Second
	// readFor is how long a read waits. One that ends without a byte shows that HAProxy
	// has counted nothing since: with the pause it is less than what package peers takes
	// for a stall of this process.
	readFor = 50 * time.Millisecond
	// silence is how long HAProxy may send nothing. It is that many reads: a long one is
	// this process that was stopped, with the bytes waiting.
	silence = 6 * time.Second
	// writeFor is how long a write may take: a HAProxy that does not read for so
	// long is not waited for.
	writeFor = 5 * time.Second
)

// session is one connection of a HAProxy, from its hello on.
type session struct {
	server   *Server
	conn     net.Conn
	hello    peers.Hello
	follower Follower

	tables peers.Tables
	checks checks
	update peers.Update
	tally  *peers.Session
	// What was read adds increases, which counter is called with; at least so many
	// requests made them.
	increases []peers.Increase
	requests  uint64
	counter   Counter

	wake chan struct{} // has room for one

	mu      sync.Mutex // guards what is below; held while what was read is counted
	retired bool
	out     outgoing
	figures haproxy.LinkFigures
}

// mostConfirms bounds the answers to ends of resyncs that are written together. HAProxy
// is asked for a resync once a second at most.
const mostConfirms = 16

// outgoing is what the reader leaves for the writer.
type outgoing struct {
	acks     map[uint64]uint32 // the last update of each table
	confirms int               // the ends of resyncs that are not confirmed yet
	resync   bool              // HAProxy asks for everything
	ask      bool              // HAProxy is to be asked for everything
}

func newSession(s *Server, c net.Conn, hello peers.Hello) *session {
	now := s.config.Now()
	return &session{
		server: s, conn: c, hello: hello, counter: s.config.counter(), tally: s.config.Tally.Begin(hello.From, hello.PID, now), wake: make(chan struct{}, 1),
		out: outgoing{acks: map[uint64]uint32{}}, figures: haproxy.LinkFigures{Name: hello.From, PID: hello.PID, Since: now, Last: now},
	}
}

var (
	errRetired = errors.New("it connected again")
	errSilent  = fmt.Errorf("nothing came for %v, not even a heartbeat", silence)
)

// retire ends a session whose HAProxy has connected again. Nothing that is read from
// now on is counted.
func (s *session) retire() {
	s.mu.Lock()
	s.retired = true
	s.mu.Unlock()
	_ = s.conn.SetDeadline(time.Now())
	_ = s.conn.Close()
}

// run speaks until one side ends it, and returns why.
func (s *session) run(ctx context.Context, rest []byte) error {
	ctx, end := context.WithCancelCause(ctx)
	s.server.config.Log("HAProxy connected", "haproxy", s.hello.From, "pid", s.hello.PID)
	_ = s.conn.SetDeadline(time.Time{})
	s.follower = s.server.config.follow(s.hello.From)
	defer s.follower.Leave()
	written := make(chan struct{})
	go func() {
		defer close(written)
		end(s.write(ctx))
		_ = s.conn.Close() // which ends the reader
	}()
	end(s.read(ctx, rest))
	_ = s.conn.SetWriteDeadline(time.Now()) // TLS would wait to send its farewell
	_ = s.conn.Close()
	<-written
	return context.Cause(ctx)
}

// logEnd logs why a session ended.
func (s *session) logEnd(err error) {
	s.mu.Lock()
	if s.retired {
		err = errRetired
	}
	s.mu.Unlock()
	s.server.config.Log("HAProxy disconnected", "haproxy", s.hello.From, "pid", s.hello.PID, "why", disconnectReason(err))
}

// disconnectReason returns why a session ended, for the log.
func disconnectReason(err error) string {
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case slices.ContainsFunc([]error{io.EOF, io.ErrClosedPipe, syscall.EPIPE, syscall.ECONNRESET}, is):
		return "HAProxy closed the connection"
	case is(context.Canceled), is(net.ErrClosed):
		return "edgeguard closed the connection: it ends, or its listener begins again"
	case is(os.ErrDeadlineExceeded):
		return fmt.Sprintf("HAProxy did not read for %v", writeFor)
	}
	return fmt.Sprint(err)
}

// read reads until the connection ends.
func (s *session) read(ctx context.Context, rest []byte) error {
	buf := append(make([]byte, 0, readBuffer), rest...)
	for n, quiet := len(rest), 0; ; {
		used, err := s.messages(buf, n)
		if err != nil {
			return err
		}
		buf = buf[:copy(buf, buf[used:])]
		if used > 0 && !sleep.For(ctx, readPause) {
			return ctx.Err()
		}
		_ = s.conn.SetReadDeadline(time.Now().Add(readFor))
		n, err = s.conn.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case n > 0:
			quiet = 0
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case quiet == int(silence/readFor):
			return errSilent
		default:
			quiet++
		}
	}
}

// messages handles the whole messages that b begins with, of which n bytes are new, and
// returns how many bytes they have.
func (s *session) messages(b []byte, n int) (used int, err error) {
	s.server.config.Cut.Lock()
	defer s.server.config.Cut.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return 0, errRetired
	}
	now := s.server.config.Now()
	s.tally.Round(now, s.taken(n))
	for {
		m, size, err := peers.NextMessage(b[used:])
		if err == nil && size > 0 {
			err = s.message(now, m)
		}
		if err != nil {
			s.count(now)
			return used, err
		}
		if size == 0 {
			break
		}
		used += size
	}
	s.count(now)
	if used > 0 {
		s.figures.Last = now
	}
	ask := s.tally.AskResync(now)
	if s.out.ask = s.out.ask || ask; used == 0 && !ask {
		return 0, nil
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return used, nil
}

// taken returns how much was read at least of what was there, for [peers.Session.Round]. TLS
// returns one record, and more may be waiting.
func (s *session) taken(n int) int {
	if _, records := s.conn.(*tls.Conn); records && n > 0 {
		return readBuffer
	}
	return n
}

// message handles one message. It needs the lock.
func (s *session) message(now time.Time, m peers.Message) error {
	switch m.Kind {
	case peers.TableDefinition:
		d, err := s.tables.Define(m)
		if err == nil {
			s.define(d)
		}
		return err
	case peers.TableSwitch:
		_, err := s.tables.Switch(m)
		return err
	case peers.UpdateWithID, peers.UpdateNext, peers.TimedUpdateWithID, peers.TimedUpdateNext:
		if err := s.tables.Read(m, &s.update); err != nil {
			return err
		}
		s.take(now)
	case peers.ResyncRequest:
		s.out.resync = true
	case peers.ResyncFinished, peers.ResyncPartial:
		s.resynced(m.Kind == peers.ResyncFinished)
	case peers.ProtocolError, peers.SizeError:
		return fmt.Errorf("HAProxy reports a %s", m.Kind)
	}
	return nil
}
