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
	"sync"
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
	only.SetHTTP2(true)
	only.SetUnencryptedHTTP2(true)
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
func (s *Server) Stats() Stats { return s.asker.stats.read() }

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
	l := lobby.Listen(nl, s.asker.config.Connections, "")
	s.mu.Lock()
	if s.listener != nil {
		s.mu.Unlock()
		return errors.New("envoy: this server was used before: make one for each listener")
	}
	s.listener = l
	s.mu.Unlock()
	defer close(s.ended)
	var seats net.Listener = seated{l}
	if c := s.asker.config.TLS; c != nil {
		seats = tls.NewListener(seats, c)
	}
	err := s.http.Serve(seats)
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
type seated struct{ *lobby.Listener }

// Accept waits for the next connection for which there is room.
func (l seated) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c.(*lobby.Conn), in: bufio.NewReaderSize(c, readRoom), out: joinWrites(c, ioFor)}, nil
}

// conn is a connection of an Envoy.
type conn struct {
	*lobby.Conn
	in    *bufio.Reader // reads from it
	out   *joinedConn   // writes to it
	mu    sync.Mutex    // guards calls, and orders what the lobby hears of them
	calls int           // under way
}

// Read reads what has arrived. net/http reads each frame in two parts, and each would be a
// call of the kernel.
func (c *conn) Read(p []byte) (int, error) { return c.in.Read(p) }

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
