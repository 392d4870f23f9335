package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard/internal/gate"
	"edgeguard/internal/lobby"
)

// HTTP on the listeners of the admin API, with a bound on the connections of each
// and on the time that a request may take. The
// [BoundedServer] knows neither who asks nor what.

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
	// full is sent to a client that is turned away, while all others are served.
	full = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)

// BoundedServer answers with Handler, through the gate of all that is not a decision. The other fields are set before it serves, too.
type BoundedServer struct {
	Handler http.Handler
	// MayListen returns why an address is not to be listened at, or nil.
	MayListen func(net.Addr) error
	// Places bounds the open connections of each listener. For one more another
	// is closed, see package lobby.
	Places int
	// Connected returns the context of a connection's requests. The connection
	// is one of package lobby.
	Connected func(context.Context, net.Conn) context.Context
	// TLS is that of the listeners, nil for plain text. Its answers are HTTP/1.1.
	TLS *tls.Config
	// Log receives the errors of net/http. Nil discards them.
	Log *slog.Logger

	lobbies atomic.Pointer[[]*lobby.Listener]
}

// Connections says what was done on all listeners to keep the connections within
// their bound.
func (b *BoundedServer) Connections() lobby.Stats {
	var sum lobby.Stats
	if lobbies := b.lobbies.Load(); lobbies != nil {
		for _, l := range *lobbies {
			one := l.Stats()
			sum.Open, sum.Closed, sum.Refused = sum.Open+one.Open, sum.Closed+one.Closed, sum.Refused+one.Refused
		}
	}
	return sum
}

// Serve answers on the listeners until ctx is done, and has closed them and ended
// every goroutine and stream when it returns. It refuses them all if one may not
// listen. It is called once.
func (b *BoundedServer) Serve(ctx context.Context, listeners ...net.Listener) error {
	for _, l := range listeners {
		if err := b.MayListen(l.Addr()); err != nil {
			closeAll(listeners)
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := b.httpServer(ctx)
	failed := make(chan error, len(listeners))
	var lobbies []*lobby.Listener
	for _, l := range listeners {
		lobbies = append(lobbies, lobby.Listen(l, b.Places, full))
	}
	b.lobbies.Store(&lobbies)
	var serving sync.WaitGroup
	for _, l := range lobbies {
		serving.Go(func() {
			if err := b.serve(server, l); !errors.Is(err, http.ErrServerClosed) {
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

// serve answers on one listener.
func (b *BoundedServer) serve(server *http.Server, l net.Listener) error {
	if b.TLS != nil {
		return server.ServeTLS(l, "", "")
	}
	return server.Serve(l)
}

func (b *BoundedServer) httpServer(ctx context.Context) *http.Server {
	server := &http.Server{
		Handler:           gate.Shared.Handler(b.Handler),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      answerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       b.Connected,
		ConnState:         connState,
		TLSConfig:         b.TLS,
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){}, // HTTP/2 multiplies what a connection may ask for
	}
	log := b.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	return server
}

// connState reports the state of a connection to the lobby.
func connState(c net.Conn, state http.ConnState) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	switch in := c.(*lobby.Conn); state {
	case http.StateActive:
		in.Asks(time.Now())
	case http.StateIdle:
		in.Answered()
		// Many requests may have come together: one of each connection, and then it is the
		// turn of others. What was asked alone is written by now, and waits for nothing.
		runtime.Gosched()
	case http.StateClosed:
		in.Leave()
	}
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		_ = l.Close()
	}
}
