package envoy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard/internal/lobby"
)

const (
	// ioFor bounds the reading of a call and the writing of its answer, and how long a
	// connection may take to begin.
	ioFor = 5 * time.Second
	// idleFor is how long a connection may be without a call. Envoy is told that it ends.
	idleFor = 10 * time.Minute
	// pingAfter and pingFor find a peer that has gone without a word.
	pingAfter = time.Minute
	pingFor   = 15 * time.Second
	// mostStreams bounds the calls of a connection that wait together. Envoy has a connection
	// for each of its threads, and opens more when this bound is reached.
	mostStreams = 100
	// streamRoom and connRoom bound what has arrived and was not read yet.
	streamRoom = 64 << 10
	connRoom   = 256 << 10
	// readRoom is what a connection reads together.
	readRoom = 8 << 10
	// mostRead bounds the messages of all connections that are being read, in bytes.
	mostRead = 32 << 20
	// leavePause is how long a connection that is about to end waits before each read. What
	// was asked is read by then; who goes on sending is slowed until it is closed.
	leavePause = 5 * time.Millisecond
	// maxHeader bounds the header of a call, which is Envoy's own: a client's is in the
	// message.
	maxHeader = 16 << 10
)

// Server answers the Envoys of one listener. Its methods are safe for concurrent use; a
// Server serves once.
type Server struct {
	asker *asker
	http  *http.Server
	read  budget // what is being read

	mu       sync.Mutex // guards what is below
	listener *lobby.Listener
	ended    chan struct{} // closed when Serve has returned
}

// New makes a server.
func New(c Config) (*Server, error) {
	a, err := newAsker(c)
	if err != nil {
		return nil, err
	}
	s := &Server{asker: a, read: budget{most: mostRead}, ended: make(chan struct{})}
	var only http.Protocols
	only.SetUnencryptedHTTP2(true) // of TLS, net/http knows nothing
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), Protocols: &only,
		ReadHeaderTimeout: ioFor, ReadTimeout: ioFor, WriteTimeout: ioFor, IdleTimeout: idleFor, MaxHeaderBytes: maxHeader,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: mostStreams, MaxReceiveBufferPerStream: streamRoom, MaxReceiveBufferPerConnection: connRoom,
			SendPingTimeout: pingAfter, PingTimeout: pingFor,
		},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, a.peerOf(c))
		},
		// What goes wrong on a connection is counted, not logged.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return s, nil
}

// Stats reads the counters.
func (s *Server) Stats() Stats { return s.asker.read() }

// Connections says what was done to keep the connections within their bound.
func (s *Server) Connections() lobby.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return lobby.Stats{}
	}
	return s.listener.Stats()
}

// Serve answers on a listener, TCP or unix, until Shutdown, and then returns nil; or until
// the listener fails for good, with the reason. The listener is closed when it returns.
func (s *Server) Serve(nl net.Listener) error {
	l := lobby.Listen(nl, s.asker.Connections, "")
	s.mu.Lock()
	if s.listener != nil {
		s.mu.Unlock()
		return errors.New("envoy: this server was used before: make one for each listener")
	}
	s.listener = l
	s.mu.Unlock()
	defer close(s.ended)
	err := s.http.Serve(seated{l, s})
	_ = l.Close()
	if !errors.Is(err, http.ErrServerClosed) {
		_ = s.http.Close()
		return fmt.Errorf("envoy: accept on %v: %w", l.Addr(), err)
	}
	return nil
}

// Shutdown closes the listener, lets the calls under way end, and closes the connections.
// When ctx ends first, it closes what is left and says so.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	begun := s.listener != nil
	s.mu.Unlock()
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close()
		err = fmt.Errorf("envoy: drain: %w", err)
	}
	if begun {
		<-s.ended
	}
	return err
}

// seated is a listener whose connections have a place in the lobby until they are closed.
type seated struct {
	*lobby.Listener
	server *Server
}

// Accept waits for the next connection for which there is room.
func (l seated) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	seat := &conn{Conn: c.(*lobby.Conn), frames: newFrames(time.Now()), wire: c, stats: &l.server.asker.stats, verified: func() bool { return false }}
	if secret := l.server.asker.config.TLS; secret != nil {
		secure := tls.Server(c, secret)
		seat.wire, seat.verified = secure, sync.OnceValue(func() bool { return len(secure.ConnectionState().VerifiedChains) > 0 })
	}
	seat.in, seat.out = bufio.NewReaderSize(seat.wire, readRoom), joinWrites(seat.wire, ioFor)
	return seat, nil
}

// conn is a connection of an Envoy. It has TLS inside, so that it knows the frames.
type conn struct {
	*lobby.Conn
	wire   net.Conn      // the same, or TLS over it
	in     *bufio.Reader // reads from wire
	out    *joinedConn   // writes to wire
	stats  *counters
	frames frames      // of what is read
	over   bool        // it was ended for its frames
	retire atomic.Bool // it ends with its next answer
	// leaves says that net/http was told so: of what comes now, it answers nothing new.
	leaves   atomic.Bool
	verified func() bool // it has shown a certificate that was verified

	mu    sync.Mutex // guards calls, and orders what the lobby hears of them
	calls int        // under way
}

// Read reads what has arrived. net/http reads each frame in two parts, and each would be a
// call of the kernel.
func (c *conn) Read(p []byte) (int, error) {
	if c.over {
		return 0, io.EOF
	}
	if c.leaves.Load() {
		time.Sleep(leavePause)
	}
	n, err := c.in.Read(p)
	switch c.frames.read(time.Now(), p[:n]) {
	case goesOn:
	case yields:
		runtime.Gosched() // who sends such without a pause takes turns with others
	case retires:
		c.retires()
	case ends:
		c.over = true
		c.stats.turnedOff.Add(1)
		_, _ = c.out.Write(c.frames.farewellFrame()) // who has gone away needs none
		return 0, io.EOF
	}
	return n, err
}

// retires has the connection end with its next answer.
func (c *conn) retires() {
	if c.retire.CompareAndSwap(false, true) {
		c.stats.turnedOff.Add(1)
	}
}

// Write sends p, soon.
func (c *conn) Write(p []byte) (int, error) { return c.out.Write(p) }

// SetWriteDeadline does nothing: out has its own.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.out.SetWriteDeadline(t) }

// SetDeadline sets that of reads.
func (c *conn) SetDeadline(t time.Time) error { return c.out.SetDeadline(t) }

// Close closes the connection and frees its place.
func (c *conn) Close() error {
	err := c.out.Close()
	c.Leave()
	return err
}

// asks notes that a call has begun, and reports false if the connection was closed for
// another just before.
func (c *conn) asks() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	return c.Asks(time.Now())
}

// answered notes that a call has ended.
func (c *conn) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls--; c.calls == 0 {
		c.Answered()
	}
}
