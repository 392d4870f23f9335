package httpauth

import (
	"context"
	"io"
	"log"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"edgeguard/internal/lobby"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/inline"
)

const (
	// idleFor is longer than nginx (60 s), Traefik (90 s) and Caddy (120 s)
	// keep an idle connection: the proxy should be the one to hang up, or a
	// question may meet a connection that is being closed.
	idleFor = 3 * time.Minute
	// ioFor bounds the reading of one request and the writing of its answer, and
	// how long a connection may be open before its first byte. No shorter: Go's
	// proxies (Caddy, Traefik) open connections before they need them.
	ioFor = 5 * time.Second
	// maxBody bounds a body, which no proxy sends unless configured to.
	maxBody = 4 << 10
	// full is sent to a client that is turned away, while all others are being answered.
	full = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)

// Server answers the proxies of one listener. Its methods are safe for
// concurrent use; a Server serves once.
type Server struct {
	asker       *inline.Asker
	realIP      *clientaddr.Finder // for nginx
	recent      *recent
	headerLimit int // of a request's line and header in bytes, and the buffer of each connection
	http        *fasthttp.Server
	conns       *lobby.Serving[*conn]
	stats       counters
}

// New makes a server. The config's header names the client on /auth/forward and on
// /auth/envoy/; /auth/nginx always reads X-Real-IP.
func New(c inline.Config) (*Server, error) { return newServer(c, 16<<10) }

func newServer(c inline.Config, headerLimit int) (*Server, error) {
	a, err := inline.New(c, "auth", 1024)
	if err != nil {
		return nil, err
	}
	realIP, err := clientaddr.NewFinder(a.Trust, "X-Real-IP")
	if err != nil {
		return nil, err
	}
	s := &Server{asker: a, realIP: realIP, recent: newRecent(), headerLimit: headerLimit, conns: lobby.NewServing[*conn]("forward auth", a.Connections, full)}
	s.http = &fasthttp.Server{
		Handler:      s.answer,
		ErrorHandler: s.unreadable,
		ConnState:    s.connState,
		// The lobby counts connections; this bound must not.
		Concurrency:                  a.Connections + 1,
		ReadBufferSize:               headerLimit,
		WriteBufferSize:              2 << 10,
		ReadTimeout:                  ioFor,
		WriteTimeout:                 ioFor,
		IdleTimeout:                  idleFor,
		MaxRequestBodySize:           maxBody,
		NoDefaultServerHeader:        true,
		NoDefaultDate:                true,
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		// An error must not hold what a client sent: it may be a password.
		SecureErrorLogMessage: true,
		// What goes wrong on a connection is counted, not logged.
		Logger: log.New(io.Discard, "", 0),
	}
	return s, nil
}

// Stats reads the counters.
func (s *Server) Stats() Stats {
	a, c := s.asker, &s.stats
	return Stats{
		Passed: a.Passed.Load(), Refused: a.Refused.Load(), Repeated: c.repeated.Load(),
		NoClient: a.NoClient.Load(), Panics: a.Panics.Load(), Strangers: a.Strangers.Load(),
		Unreadable: c.unreadable.Load(), Overlong: c.overlong.Load(), Late: c.late.Load(),
	}
}

// Connections says what was done to keep the connections within their bound.
func (s *Server) Connections() lobby.Stats { return s.conns.Stats() }

// Serve answers on a listener, TCP or unix, until Shutdown, and then returns
// nil; or until the listener fails for good, with the reason. All its
// connections have ended and it is closed when it returns.
func (s *Server) Serve(nl net.Listener) error { return s.conns.Serve(nl, begin, s.converse) }

func begin(lc *lobby.Conn) *conn { return &conn{Conn: lc, peer: inline.PeerOf(lc.RemoteAddr())} }

// Shutdown closes the listener and the idle connections, lets the others end
// their request, and returns when Serve is about to. When ctx ends first, it
// closes what is left and says so.
func (s *Server) Shutdown(ctx context.Context) error {
	return s.conns.Shutdown(ctx, func(c *conn) {
		if !c.busy.Load() {
			_ = c.Close()
		}
	})
}
