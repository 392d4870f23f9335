package haproxypeers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"edgeguard/haproxy"
	"edgeguard/haproxy/peers"
	"edgeguard/internal/lobby"
)

const (
	// Name is what HAProxy calls edgeguard in its section "peers".
	Name = "edgeguard"
	// maxHAProxies bounds the HAProxies of one listener.
	maxHAProxies = 16
	// places is how many connections may be open. Those that have said hello are at
	// most maxHAProxies; package lobby closes others first.
	places = 4 * maxHAProxies
	// helloFor is how long a connection has to say hello.
	helloFor = 5 * time.Second
	// maxHello is more than the longest hello.
	maxHello = 1 << 10
)

// Server is the HAProxies of one listener. Its methods are safe for concurrent use;
// a Server serves once. Make one with [New].
type Server struct {
	config Config

	mu       sync.Mutex // guards what is below
	sessions map[string]*session
	hellos   often
	past     Stats // without those that are connected
}

// New returns a server.
func New(c Config) *Server {
	return &Server{config: c, sessions: map[string]*session{}}
}

// Serve speaks with the HAProxies that connect to nl until ctx is done, and then
// returns nil; or until the listener fails. All connections have ended and the
// listener is closed when it returns.
func (s *Server) Serve(ctx context.Context, nl net.Listener, enter haproxy.Enter) error {
	l := lobby.Listen(nl, places, "")
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer func() {
		stop()
		_ = l.Close()
	}()
	err := l.Each(func() bool { return ctx.Err() != nil }, func(c *lobby.Conn) { wg.Go(func() { s.converse(ctx, c, enter) }) })
	if err != nil {
		return fmt.Errorf("HAProxy peers: accept on %v: %w", nl.Addr(), err)
	}
	return nil
}

// converse has one connection from its first byte to its last.
func (s *Server) converse(ctx context.Context, lc *lobby.Conn, enter haproxy.Enter) {
	defer lc.Leave()
	defer func() { _ = lc.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = lc.Close() })
	defer stop()
	c, err := s.enters(ctx, lc, enter)
	if err != nil {
		return
	}
	hello, rest, err := s.greet(c)
	if err != nil {
		return
	}
	one, err := s.join(c, hello)
	if err != nil {
		return
	}
	defer s.leave(one)
	if lc.Asks(time.Now()) { // it keeps its place from here on
		one.logEnd(one.run(ctx, rest))
	}
}

// enters admits a connection or turns it away.
func (s *Server) enters(ctx context.Context, lc *lobby.Conn, enter haproxy.Enter) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, helloFor)
	defer cancel()
	c, err := enter(ctx, lc.Conn)
	if err != nil {
		s.mu.Lock()
		s.past.Strangers++
		s.mu.Unlock()
		s.config.happened(err.Error())
	}
	return c, err
}

// greet reads the hello, and refuses what is none. rest is what was read after it.
func (s *Server) greet(c net.Conn) (hello peers.Hello, rest []byte, err error) {
	_ = c.SetDeadline(time.Now().Add(helloFor))
	buf := make([]byte, 0, maxHello)
	for {
		n, err := c.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		hello, used, bad := peers.ReadHello(buf)
		switch {
		case bad == nil && used > 0:
			if hello.To == Name {
				return hello, buf[used:], nil
			}
			return hello, nil, s.refuse(c, &peers.Refusal{Status: peers.WrongName, Why: fmt.Sprintf(
				"HAProxy %q calls its peer %q, where edgeguard answers to %q: name the server so in HAProxy's section \"peers\"", hello.From, hello.To, Name)})
		case bad != nil:
			return hello, nil, s.refuse(c, bad)
		case err != nil:
			return hello, nil, err
		case len(buf) == cap(buf):
			return hello, nil, s.refuse(c, &peers.Refusal{Status: peers.BadProtocol, Why: fmt.Sprintf("the hello is longer than %d bytes: this is not HAProxy's peers protocol", maxHello)})
		}
	}
}

// refuse answers a hello with why not. HAProxy does not try again before its next
// reload, which is what mends each of these reasons.
func (s *Server) refuse(c net.Conn, why error) error {
	var r *peers.Refusal
	if errors.As(why, &r) {
		_, _ = c.Write(peers.AppendStatus(nil, r.Status))
	}
	s.mu.Lock()
	s.past.Refused++
	s.past.Hello = why.Error()
	s.mu.Unlock()
	s.config.happened(why.Error())
	return why
}

var (
	errFull  = fmt.Errorf("more than %d HAProxies", maxHAProxies)
	errOften = errors.New("connections come too often")
)

// join makes a connection that of its HAProxy, and ends the one before.
func (s *Server) join(c net.Conn, hello peers.Hello) (*session, error) {
	s.mu.Lock()
	if !s.hellos.may(time.Now()) {
		s.past.Refused++
		s.mu.Unlock()
		s.config.happened(fmt.Sprintf("HAProxy %q was turned away: connections come more often than once a second; see its log for why it does not keep them", hello.From))
		return nil, errOften // without an answer: HAProxy tries again
	}
	before := s.sessions[hello.From]
	if before == nil && len(s.sessions) == maxHAProxies {
		s.past.Refused++
		s.mu.Unlock()
		s.config.happened(fmt.Sprintf("HAProxy %q was turned away: %d others are connected, and no more are served at one listener: add a second listener", hello.From, maxHAProxies))
		return nil, errFull // without an answer: HAProxy tries again
	}
	one := newSession(s, c, hello)
	s.sessions[hello.From] = one
	s.past.Hello = ""
	s.mu.Unlock()
	if before != nil {
		before.retire()
	}
	return one, nil
}

// leave forgets a session unless another has taken its name.
func (s *Server) leave(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := one.stats()
	add(&s.past.ListenerFigures, &f)
	if s.sessions[one.hello.From] == one {
		delete(s.sessions, one.hello.From)
	}
}
