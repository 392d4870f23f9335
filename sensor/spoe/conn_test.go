package spoe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgeguard"
	"edgeguard/haproxy/spop"
	"edgeguard/haproxy/spop/spoptest"
	"edgeguard/internal/lobby"
	"edgeguard/sensor/inline"
)

// tape is a connection from which a recording is read.
type tape struct {
	net.Conn
	in     *bytes.Reader
	out    bytes.Buffer
	writes int
}

func (t *tape) Read(p []byte) (int, error) { return t.in.Read(p) }
func (t *tape) Write(p []byte) (int, error) {
	t.writes++
	return t.out.Write(p)
}
func (*tape) Close() error                     { return nil }
func (*tape) SetDeadline(time.Time) error      { return nil }
func (*tape) SetReadDeadline(time.Time) error  { return nil }
func (*tape) SetWriteDeadline(time.Time) error { return nil }
func (*tape) RemoteAddr() net.Addr             { return &net.UnixAddr{} }

// one is a listener at which one connection comes.
type one struct {
	net.Listener
	conn net.Conn
}

func (o one) Accept() (net.Conn, error) { return o.conn, nil }

// play serves a recording that begins after the HELLOs.
func play(s *Server, recorded *tape) {
	in, _ := lobby.Listen(one{conn: recorded}, 1, "").Accept()
	c := &conn{Conn: in.(*lobby.Conn), wire: in, server: s, asked: newQuestion(), most: spop.UsualFrame, in: make([]byte, firstBuffer)}
	c.read = time.Now()
	_ = c.speak()
}

func recording(n int) []byte {
	one := spoptest.Notify(1, 1, arg("src", client4), arg("method", "POST"), arg("host", "site.example"), arg("path", "/login?a=1"),
		arg("agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0)"), arg("referer", nil), arg("header:x-api-key", "k"))
	return bytes.Repeat(one, n)
}

// What was read is answered with one write: that is what makes SPOE cheap.
func TestOneWrite(t *testing.T) {
	s, err := New(inline.Config{Decide: passAll}, anyone)
	if err != nil {
		t.Fatal(err)
	}
	c := &tape{in: bytes.NewReader(recording(20))}
	play(s, c)
	if s.Stats().Passed != 20 || c.writes != 1 {
		t.Errorf("%+v, %d writes", s.Stats(), c.writes)
	}
}

// TestPassDoesNotAllocate compares a connection with many requests to one with few:
// what differs is the requests'.
func TestPassDoesNotAllocate(t *testing.T) {
	s, err := New(inline.Config{Decide: passAll}, anyone)
	if err != nil {
		t.Fatal(err)
	}
	allocs := func(n int) float64 {
		sent := recording(n)
		return testing.AllocsPerRun(20, func() {
			c := &tape{in: bytes.NewReader(sent)}
			c.out.Grow(1 << 16)
			play(s, c)
		})
	}
	few, many := allocs(10), allocs(510)
	if perRequest := (many - few) / 500; perRequest > 0.1 { // the buffers of a connection grow
		t.Errorf("%.2f allocations a request", perRequest)
	}
}

// Who may ask sends as many headers as a frame holds, in as many messages as he likes:
// what a connection keeps for the next request has a bound.
func TestHeadersAreBounded(t *testing.T) {
	var payload []byte
	for range 50 {
		payload = append(payload, 1, 'm', 255)
		for range 255 {
			payload = append(payload, "\x08header:x\x08\x01v"...)
		}
	}
	q := newQuestion()
	if err := q.take(spop.Frame{Type: spop.TypeNotify, Payload: payload}); err != nil {
		t.Fatal(err)
	}
	if len(q.headers) != mostHeaders || cap(q.headers) > 2*mostHeaders {
		t.Errorf("%d headers, room for %d", len(q.headers), cap(q.headers))
	}
	if v, ok := q.header("x"); !ok || v != "v" {
		t.Errorf("the header is %q, %v", v, ok)
	}
}

func BenchmarkPass(b *testing.B) {
	s, err := New(inline.Config{Decide: passAll}, anyone)
	if err != nil {
		b.Fatal(err)
	}
	const batch = 100
	sent := recording(batch)
	b.ReportAllocs()
	for b.Loop() {
		play(s, &tape{in: bytes.NewReader(sent)})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/request")
}

// FuzzConversation reads whatever a peer may send after the HELLOs: every frame that
// is answered is one that HAProxy can read.
func FuzzConversation(f *testing.F) {
	f.Add(recording(2))
	f.Add(append(recording(1), spop.AppendDisconnect(nil, spop.Normal)...))
	f.Add(spoptest.Frame(spop.TypeDisconnect, 0, 0, spoptest.Pair(nil, "status-code", uint32(3))))
	s, err := New(inline.Config{Decide: func(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
		if len(e.Path) > 3 {
			return edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: "r"}
		}
		return edgeguard.Verdict{}
	}}, anyone)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		c := &tape{in: bytes.NewReader(sent)}
		play(s, c)
		for out := c.out.Bytes(); len(out) > 0; {
			frame, size, err := spop.NextFrame(out, spop.UsualFrame)
			if err != nil || size == 0 || frame.Type < spop.TypeAgentHello {
				t.Fatalf("%+v, %d, %v", frame, size, err)
			}
			if vars, ok := spoptest.Vars(frame.Payload); frame.Type == spop.TypeAck && (!ok || vars["action"] == nil) {
				t.Fatalf("%v", vars)
			}
			out = out[size:]
		}
		if s.Stats().Panics != 0 {
			t.Fatal("it panicked")
		}
	})
}

// pipes is a listener of connections in memory.
type pipes struct {
	come chan net.Conn
	done chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.come:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}
func (pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// A peer that says nothing, or begins a frame and does not end it, is closed; one that
// idles between frames is not.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(inline.Config{Decide: passAll}, anyone)
		if err != nil {
			t.Fatal(err)
		}
		l := pipes{make(chan net.Conn), make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		enter := func() net.Conn {
			near, far := net.Pipe()
			l.come <- near
			return far
		}
		closedBy := func(c net.Conn) time.Duration {
			begun := time.Now()
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Error(err)
			}
			return time.Since(begun)
		}
		if after := closedBy(enter()); after != ioFor {
			t.Errorf("a silent peer was closed after %v", after)
		}

		h := &haproxy{t: t, Conn: enter()}
		h.send(spoptest.Hello("2.0", spop.UsualFrame, false))
		h.next()
		time.Sleep(24 * time.Hour)
		notify := spoptest.Notify(1, 1, arg("src", client4))
		h.send(notify)
		h.vars(1, 1)
		h.send(notify[:10])
		time.Sleep(ioFor - time.Second)
		h.send(notify[10:11]) // trickling does not help
		if after := closedBy(h.Conn); after != time.Second {
			t.Errorf("half a frame was closed after %v", after)
		}

		slow := &haproxy{t: t, Conn: enter()}
		slow.send(spoptest.Hello("2.0", spop.UsualFrame, false))
		slow.next()
		slow.send(notify) // and does not read: a pipe has no buffer
		time.Sleep(3 * ioFor)
		if _, err := slow.Read(make([]byte, 100)); !errors.Is(err, io.EOF) {
			t.Errorf("a peer that does not read: %v", err)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// A request that waited in the socket while this process did not run, and whose
// HAProxy has gone meanwhile, is not counted.
func TestLate(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("whether the other side has closed is known on Linux alone")
	}
	for _, c := range []struct {
		name    string
		silent  time.Duration
		hangsUp bool
		want    uint64
	}{
		{"an hour, and gone", time.Hour, true, 0},
		{"an hour, and there", time.Hour, false, 1},
		{"a moment, and gone", 0, true, 1},
	} {
		l, err := net.Listen("unix", t.TempDir()+"/s")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		far := dial(t, l.Addr().String())
		s, err := New(inline.Config{Decide: passAll}, anyone)
		if err != nil {
			t.Fatal(err)
		}
		in, err := lobby.Listen(l, 1, "").Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		conn := &conn{Conn: in.(*lobby.Conn), wire: in, server: s, asked: newQuestion(), most: spop.UsualFrame, in: make([]byte, firstBuffer)}
		conn.read = time.Now().Add(-c.silent)
		far.send(recording(1))
		if c.hangsUp {
			far.Close()
		}
		ended := make(chan struct{})
		go func() { _ = conn.speak(); close(ended) }()
		if !c.hangsUp {
			far.vars(1, 1)
			far.Close()
		}
		<-ended
		if got := s.Stats().Passed; got != c.want {
			t.Errorf("%s: %d passed, want %d", c.name, got, c.want)
		}
	}
}

// A drain ends an idle connection with a DISCONNECT, and a busy one after its answer.
func TestDrain(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	s, err := New(inline.Config{Decide: func(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
		if e.Path == "/slow" {
			close(inside)
			<-goOn
		}
		return edgeguard.Verdict{}
	}}, anyone)
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/s"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	idle, busy, silent := greeted(t, path), greeted(t, path), dial(t, path)
	busy.send(spoptest.Notify(1, 1, arg("src", client4), arg("path", "/slow")))
	<-inside
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(context.Background()) }()
	if f := idle.next(); f.Type != spop.TypeAgentDisconnect || !strings.Contains(string(f.Payload), "normal") {
		t.Errorf("idle: %+v", f)
	}
	idle.Close()
	silent.Close()
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		t.Error("a drained listener takes connections")
	}
	select {
	case err := <-down:
		t.Errorf("Shutdown did not wait: %v", err)
	default:
	}
	close(goOn)
	busy.vars(1, 1)
	if f := busy.next(); f.Type != spop.TypeAgentDisconnect {
		t.Errorf("busy: %+v", f)
	}
	busy.Close()
	if err := errors.Join(<-down, <-served); err != nil {
		t.Error(err)
	}
	if err := s.Serve(l); err == nil {
		t.Error("it serves again")
	}
}

// A drain whose time is over closes what is left and says so.
func TestDrainEnds(t *testing.T) {
	s, err := New(inline.Config{Decide: passAll}, anyone)
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/s"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	h := greeted(t, path)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	for h.next().Type != 0 {
	}
}

// One more connection than there is room for takes the place of an idle one. The first
// is idle a moment after its answer has arrived, and until then a new one is refused.
func TestFull(t *testing.T) {
	s, path := start(t, inline.Config{Connections: 1})
	first := greeted(t, path)
	var second *haproxy
	for tries := uint64(0); s.Connections().Closed == 0; {
		second = dial(t, path)
		for tries++; s.Connections().Closed+s.Connections().Refused < tries; {
			runtime.Gosched()
		}
	}
	if f := first.next(); f.Type != 0 {
		t.Errorf("%+v", f)
	}
	second.send(spoptest.Hello("2.0", spop.UsualFrame, false))
	second.next()
	if got := s.Connections(); got.Closed != 1 || got.Open != 1 {
		t.Errorf("%+v", got)
	}
}

// errListener fails for good.
type errListener struct{ pipes }

func (errListener) Accept() (net.Conn, error) { return nil, os.ErrInvalid }

func TestListenerFails(t *testing.T) {
	s, err := New(inline.Config{Decide: passAll}, anyone)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(errListener{pipes{nil, make(chan struct{})}}); !errors.Is(err, os.ErrInvalid) {
		t.Error(err)
	}
}
