// Package admin is how people and programs look at a running node and change
// it: a JSON API under /api/v1, events as a stream, metrics, health
// and profiles. docs/api.md is its reference.
//
// It decides nothing and keeps nothing but the last events: all it knows comes
// from a [Reader], and what it changes goes through an [Operator]; package node
// implements both. It is not on the path of a request, and where it fails the
// node goes on deciding.
//
// Who may do what depends on how they come. Over a unix socket the file's mode
// decides, and all is allowed. Over TCP a token is asked for, if there is one;
// without one the node listens on loopback only and no client can change
// anything. A browser is kept out of it: changes require a JSON content type and
// no foreign origin, loopback requires a local Host, and there are no cookies.
// Package access decides it.
package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"edgeguard/admin/access"
	"edgeguard/internal/lobby"
)

const (
	headerTime = 10 * time.Second // to read a request's headers, from the connection's first moment
	readTime   = 20 * time.Second // to read a whole request
	idleTime   = 2 * time.Minute
	// answerTime is how long an answer may take; a profile may last a minute.
	answerTime = 70 * time.Second
	// drainTime is how long answers in progress may continue at the end.
	drainTime = time.Second
	// maxHeader is the most that a request's headers may have, in bytes.
	maxHeader = 16 << 10
	// defaultConnections is twice the streams that there may be.
	defaultConnections = 128
	// full is sent to a client that is turned away, while all others are served.
	full = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)

// Config is what a server shows, and who may see it.
type Config struct {
	Reader   Reader
	Operator Operator
	Events   *Events
	// TokenFile holds the token that TCP clients show; empty for none. It is
	// read by New and by ReadToken.
	TokenFile string
	// Audit is called on every manual action. Nil disables it.
	Audit func(Audit)
	// Latency is part of the metrics. Nil leaves it out.
	Latency *Latency
	// Connections bounds the open connections of each listener. For one more
	// another is closed, see package lobby. 0 means 128.
	Connections int
	// Log receives the errors of net/http. Nil discards them.
	Log *slog.Logger
}

// Server answers the admin API. It is safe for concurrent use. Make one with
// [New].
type Server struct {
	config   Config
	access   *access.Policy
	handler  http.Handler
	refusals *prometheus.CounterVec
	lobbies  atomic.Pointer[[]*lobby.Listener]
}

// New makes a server and reads its token. It does not listen yet.
func New(c Config) (*Server, error) {
	policy, err := access.New(c.TokenFile)
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, access: policy}
	if s.config.Connections == 0 {
		s.config.Connections = defaultConnections
	}
	if s.config.Audit == nil {
		s.config.Audit = func(Audit) {}
	}
	metrics := s.newMetrics()
	s.handler = s.guard(s.routes(metrics))
	return s, nil
}

// ReadToken reads the token file again; call it on every reload. On an error
// the previous token stays in use.
func (s *Server) ReadToken() error { return s.access.ReadToken() }

// Connections says what was done on all listeners to keep the connections within
// their bound.
func (s *Server) Connections() lobby.Stats {
	var sum lobby.Stats
	if lobbies := s.lobbies.Load(); lobbies != nil {
		for _, l := range *lobbies {
			one := l.Stats()
			sum.Open, sum.Closed, sum.Refused = sum.Open+one.Open, sum.Closed+one.Closed, sum.Refused+one.Refused
		}
	}
	return sum
}

// Serve answers on the listeners until ctx is done, and has closed them and
// ended every goroutine and stream when it returns. It refuses a listener that
// strangers could reach without a token. It is called once.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	for _, l := range listeners {
		if err := s.access.MayListen(l.Addr()); err != nil {
			closeAll(listeners)
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := s.httpServer(ctx)
	failed := make(chan error, len(listeners))
	var lobbies []*lobby.Listener
	for _, l := range listeners {
		lobbies = append(lobbies, lobby.Listen(l, s.config.Connections, full))
	}
	s.lobbies.Store(&lobbies)
	var serving sync.WaitGroup
	for _, l := range lobbies {
		serving.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("admin %s: %w", l.Addr(), err)
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel() // ends the streams, which Shutdown would wait for
	drain, stop := context.WithTimeout(context.Background(), drainTime)
	defer stop()
	if server.Shutdown(drain) != nil {
		_ = server.Close() // requests in progress are cut off
	}
	serving.Wait()
	return err
}

func (s *Server) httpServer(ctx context.Context) *http.Server {
	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      answerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       access.WithPeer,
		ConnState:         connState,
	}
	log := s.config.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	return server
}

// connState reports the state of a connection to the lobby.
func connState(c net.Conn, state http.ConnState) {
	switch in := c.(*lobby.Conn); state {
	case http.StateActive:
		in.Asks(time.Now())
	case http.StateIdle:
		in.Answered()
	case http.StateClosed:
		in.Leave()
	}
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		_ = l.Close()
	}
}
