package spoe

import (
	"context"
	"errors"
	"net"
	"time"

	"edgeguard/haproxy/spop"
	"edgeguard/internal/lobby"
	"edgeguard/sensor/inline"
)

// The kinds of alarm beside those of every asker.
const (
	alarmHello    = "spoe_hello"    // no common version or size of frames
	alarmProtocol = "spoe_protocol" // not a frame of SPOP: closed
	alarmStranger = "spoe_stranger" // a peer that may not speak: closed
)

// Server answers the HAProxies of one listener. Its methods are safe for concurrent
// use; a Server serves once.
type Server struct {
	asker *inline.Asker
	admit func(context.Context, net.Conn) (net.Conn, error)
	stats counters
	conns *lobby.Serving[*conn]
}

// New makes a server. admit returns the connection to speak on, or why its peer may not speak; it
// may wait for the peer, as TLS does.
func New(c inline.Config, admit func(context.Context, net.Conn) (net.Conn, error)) (*Server, error) {
	a, err := inline.New(c, "spoe", 256)
	if err != nil {
		return nil, err
	}
	if admit == nil {
		return nil, errors.New("spoe: admit must be set")
	}
	return &Server{asker: a, admit: admit, conns: lobby.NewServing[*conn]("SPOE", a.Connections, "")}, nil
}

// Stats reads the counters.
func (s *Server) Stats() Stats {
	a, c := s.asker, &s.stats
	return Stats{
		Passed: a.Passed.Load(), Refused: a.Refused.Load(), NoClient: a.NoClient.Load(), Panics: a.Panics.Load(),
		Checks: c.checks.Load(), Faults: c.faults.Load(), Strangers: c.strangers.Load(), Late: c.late.Load(),
	}
}

// Connections says what was done to keep the connections within their bound.
func (s *Server) Connections() lobby.Stats { return s.conns.Stats() }

// Serve answers on a listener, TCP or unix, until Shutdown, and then returns nil; or
// until the listener fails for good, with the reason. All its connections have ended
// and it is closed when it returns.
func (s *Server) Serve(nl net.Listener) error { return s.conns.Serve(nl, s.begin, s.serve) }

func (s *Server) begin(lc *lobby.Conn) *conn {
	return &conn{Conn: lc, wire: lc, server: s, asked: newQuestion(), proxied: s.asker.Fronted || !inline.OnThisHost(inline.PeerOf(lc.RemoteAddr()))}
}

// serve serves one connection to its end.
func (s *Server) serve(c *conn) {
	defer func() {
		if v := recover(); v != nil {
			s.asker.ReportPanic("a connection panicked and was closed", v)
		}
		s.conns.Close(c)
		c.Leave()
	}()
	_ = c.SetDeadline(time.Now().Add(ioFor)) // until the first words were exchanged
	if s.conns.Draining() {                  // after the deadline, which a drain sets, too
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), ioFor)
	admitted, err := s.admit(ctx, c.Conn)
	cancel()
	if err != nil {
		s.stats.strangers.Add(1)
		s.asker.Alarm(alarmStranger, "a connection was closed: "+err.Error())
		return
	}
	c.wire = admitted
	c.end(c.converse())
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
		c.server.asker.Alarm(f.kind, f.Error())
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
