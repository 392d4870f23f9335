package spoe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"time"

	"edgeguard/haproxy/spop"
	"edgeguard/internal/lobby"
)

// Server answers the HAProxies of one listener. Its methods are safe for concurrent
// use; a Server serves once.
type Server struct {
	config Config
	stats  counters
	conns  *lobby.Serving[*conn]
}

// New makes a server.
func New(c Config) (*Server, error) {
	c, err := c.checked()
	if err != nil {
		return nil, err
	}
	return &Server{config: c, conns: lobby.NewServing[*conn]("SPOE", c.Connections, "")}, nil
}

// Stats reads the counters.
func (s *Server) Stats() Stats { return s.stats.read() }

// Connections says what was done to keep the connections within their bound.
func (s *Server) Connections() lobby.Stats { return s.conns.Stats() }

// Serve answers on a listener, TCP or unix, until Shutdown, and then returns nil; or
// until the listener fails for good, with the reason. All its connections have ended
// and it is closed when it returns.
func (s *Server) Serve(nl net.Listener) error { return s.conns.Serve(nl, s.begin, s.serve) }

func (s *Server) begin(lc *lobby.Conn) *conn {
	return &conn{Conn: lc, wire: lc, server: s, asked: newQuestion(), proxied: s.config.Fronted || !onThisHost(lc.RemoteAddr())}
}

// serve serves one connection to its end.
func (s *Server) serve(c *conn) {
	defer func() {
		if v := recover(); v != nil {
			s.stats.panics.Add(1)
			s.config.Alarm(alarmPanic, fmt.Sprintf("a connection panicked and was closed: %v\n%s", v, debug.Stack()))
		}
		s.conns.Close(c)
		c.Leave()
	}()
	_ = c.SetDeadline(time.Now().Add(ioFor)) // until the first words were exchanged
	if s.conns.Draining() {                  // after the deadline, which a drain sets, too
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), ioFor)
	admitted, err := s.config.Admit(ctx, c.Conn)
	cancel()
	if err != nil {
		s.stats.strangers.Add(1)
		s.config.Alarm(alarmStranger, "a connection was closed: "+err.Error())
		return
	}
	c.wire = admitted
	c.end(c.converse())
}

// onThisHost reports whether the peer's own peers are those of this kernel.
func onThisHost(peer net.Addr) bool {
	tcp, ok := peer.(*net.TCPAddr)
	return !ok || netip.Addr.IsLoopback(tcp.AddrPort().Addr().Unmap())
}

// fault is an error of the peer: an alarm of a kind, and a status to send.
type fault struct {
	kind string
	why  error
}

func (f fault) Error() string {
	if f.kind == alarmHello {
		return "HAProxy and edgeguard have no common way to speak: " + f.why.Error() + "; the requests are let through: use a HAProxy that speaks SPOP 2.0, and tune.bufsize of at least 1024"
	}
	return "what a connection sent cannot be read as SPOP, and it was closed: " + f.why.Error() + "; let only the backend of HAProxy's spoe-agent connect here"
}

// end reports a fault, and says goodbye where HAProxy waits for it.
func (c *conn) end(err error) {
	var f fault
	why := spop.Normal
	switch {
	case errors.As(err, &f):
		c.server.stats.faults.Add(1)
		c.server.config.Alarm(f.kind, f.Error())
		errors.As(f.why, &why)
	case !errors.Is(err, errDrained):
		return
	}
	now := time.Now()
	c.out = spop.AppendDisconnect(c.out[:0], why)
	if c.flush(now) != nil {
		return
	}
	// A connection that is closed with unread bytes is reset, and HAProxy might not
	// read the last answers.
	_ = c.wire.SetReadDeadline(now.Add(farewell))
	for read := 0; read < mostFarewell; {
		n, err := c.wire.Read(c.in)
		if err != nil {
			return
		}
		read += n
	}
}

const (
	// farewell is how long HAProxy has to hang up after a DISCONNECT, and mostFarewell
	// how much it may send meanwhile.
	farewell     = 100 * time.Millisecond
	mostFarewell = 1 << 20
)

// Shutdown closes the listener, has each connection answer what it has read, and
// returns when Serve is about to. When ctx ends first, it closes what is left and says
// so.
func (s *Server) Shutdown(ctx context.Context) error {
	return s.conns.Shutdown(ctx, func(c *conn) { _ = c.SetReadDeadline(time.Unix(1, 0)) }) // one that waits looks up
}
