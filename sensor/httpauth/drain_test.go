package httpauth

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/sensor/inline"
)

// serve starts a server that the test shuts down itself.
func serve(t *testing.T, c inline.Config, l net.Listener) (*Server, <-chan error) {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	return s, served
}

// TestDrain: a request that is being answered gets its answer, an idle
// connection is closed, a new one is refused, and nothing is left running.
func TestDrain(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	l := listenTCP(t)
	s, served := serve(t, inline.Config{Decide: func(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
		if e.Path == "/slow" {
			close(inside)
			<-goOn
		}
		return edgeguard.Verdict{}
	}}, l)

	idle, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	busy, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if _, err := io.WriteString(busy, "GET /auth/envoy/slow HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-inside
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(context.Background()) }()
	if _, err := io.ReadAll(idle); err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		t.Errorf("idle: %v", err)
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("a drained listener takes connections")
	}
	select {
	case err := <-down:
		t.Errorf("Shutdown did not wait: %v", err)
	default:
	}
	close(goOn)
	if answer, err := io.ReadAll(busy); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 OK\r\n") {
		t.Errorf("busy: %q, %v", answer, err)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestDrainEnds: a drain whose time is over closes what is left and says so.
func TestDrainEnds(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	l := listenTCP(t)
	s, served := serve(t, inline.Config{Decide: func(time.Time, *edgeguard.Event) edgeguard.Verdict {
		close(inside)
		<-goOn
		return edgeguard.Verdict{}
	}}, l)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /auth/nginx HTTP/1.1\r\nHost: h\r\nX-Real-IP: 203.0.113.9\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-inside
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown = %v", err)
	}
	close(goOn)
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestServesOnce(t *testing.T) {
	l := listenTCP(t)
	s, served := serve(t, (&desk{}).config(), l)
	ask(t, client(t, l), "GET", "/auth/nginx", [2]string{"X-Real-IP", "203.0.113.9"}) // it serves
	if err := s.Serve(listenTCP(t)); err == nil {
		t.Error("a second Serve")
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestShutdownFirst(t *testing.T) {
	s, err := New((&desk{}).config())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := s.Serve(listenTCP(t)); err != nil {
		t.Error(err)
	}
}

// broken is a listener whose Accept fails for good.
type broken struct{ net.Listener }

func (broken) Accept() (net.Conn, error) { return nil, errors.New("no more") }

func TestAcceptFails(t *testing.T) {
	_, served := serve(t, (&desk{}).config(), broken{listenTCP(t)})
	if err := <-served; err == nil || !strings.Contains(err.Error(), "no more") {
		t.Errorf("Serve = %v", err)
	}
}

// TestConnectionsAreBounded: for one more, who never asked goes, and then who
// asked the longest ago; a proxy that goes on asking is answered all the while.
func TestConnectionsAreBounded(t *testing.T) {
	d := &desk{}
	c := d.config()
	c.Connections = 3
	l := listenUnix(t)
	s := start(t, c, l)
	dial := func() net.Conn {
		nc, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		return nc
	}
	asks := func(nc net.Conn) bool {
		_, err := io.WriteString(nc, "GET /auth/nginx HTTP/1.1\r\nHost: h\r\nX-Real-IP: 203.0.113.9\r\n\r\n")
		if err != nil {
			return false
		}
		n, err := nc.Read(make([]byte, 100))
		return err == nil && n > 0
	}
	proxy, once := dial(), dial()
	if !asks(proxy) || !asks(once) || !asks(proxy) {
		t.Fatal("not answered")
	}
	var silent []net.Conn
	for range 50 {
		silent = append(silent, dial())
		if !asks(proxy) {
			t.Fatal("the proxy's connection was closed")
		}
	}
	for _, nc := range silent[:49] {
		if _, err := nc.Read(make([]byte, 1)); err == nil {
			t.Error("who asked nothing was answered")
		}
	}
	another := dial()
	if !asks(another) || !asks(proxy) || !asks(dial()) || !asks(proxy) {
		t.Fatal("not answered")
	}
	if asks(once) {
		t.Error("who asked the longest ago is still there")
	}
	if got := s.Connections(); got.Open > 3 || got.Closed < 50 || got.Refused != 0 {
		t.Errorf("%+v", got)
	}
}
