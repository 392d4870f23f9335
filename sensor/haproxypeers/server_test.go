package haproxypeers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"edgeguard/haproxy/peers"
)

// pipes is a listener of connections in memory.
type pipes struct {
	come   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.come:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Net: "unix", Name: "/test"} }

// trial is a server on a listener in memory. It lives in one bubble of synctest.
type trial struct {
	t      *testing.T
	server *Server
	pipes  *pipes

	mu       sync.Mutex // guards what is below
	log      []string
	happened []string
}

var blocks = peers.Definition{ID: 1, Name: "/blocks", Key: peers.IPv6, KeyBytes: 16, Stored: []peers.Stored{{Type: peers.GPT0, Elements: 1}}, Expire: 5 * time.Minute}

func newTrial(t *testing.T, c Config) *trial {
	x := &trial{t: t, pipes: &pipes{come: make(chan net.Conn), closed: make(chan struct{})}}
	c.Now, c.Cut, c.Tally = time.Now, new(sync.Mutex), peers.NewTally(100)
	c.Log = func(text string, args ...any) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.log = append(x.log, fmt.Sprintln(append([]any{text}, args...)...))
	}
	c.Happened = func(text string) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.happened = append(x.happened, text)
	}
	x.server = New(c)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- x.server.Serve(ctx, x.pipes, func(_ context.Context, c net.Conn) (net.Conn, error) { return c, nil })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return x
}

// wantHappened wants exactly one text, which has a part.
func (x *trial) wantHappened(part string) {
	x.t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.happened) != 1 || !strings.Contains(x.happened[0], part) {
		x.t.Errorf("happened: %q, want one with %q", x.happened, part)
	}
}

func (x *trial) logged(part string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(x.log, func(line string) bool { return strings.Contains(line, part) })
}

// realHAProxy is the far end of a connection. What it is sent is kept.
type realHAProxy struct {
	t    *testing.T
	conn net.Conn
	quit chan struct{} // closed when edgeguard has closed the connection

	mu  sync.Mutex // guards got
	got []byte
}

// connect connects, sends text, and reads what it is sent.
func (x *trial) connect(text string) *realHAProxy {
	x.t.Helper()
	h := x.deaf(text)
	go h.listen()
	synctest.Wait()
	return h
}

// deaf is connect for one that does not read.
func (x *trial) deaf(text string) *realHAProxy {
	x.t.Helper()
	near, far := net.Pipe()
	x.pipes.come <- near
	x.t.Cleanup(func() { _ = far.Close() })
	h := &realHAProxy{t: x.t, conn: far, quit: make(chan struct{})}
	h.send([]byte(text))
	return h
}

func (h *realHAProxy) listen() {
	defer close(h.quit)
	b := make([]byte, 1<<16)
	for {
		n, err := h.conn.Read(b)
		h.mu.Lock()
		h.got = append(h.got, b[:n]...)
		h.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// send sends what edgeguard has read when it returns.
func (h *realHAProxy) send(b []byte) {
	h.t.Helper()
	_ = h.conn.SetWriteDeadline(time.Now().Add(time.Second))
	if _, err := h.conn.Write(b); err != nil {
		h.t.Helper()
		h.t.Logf("send: %v", err)
	}
}

// control sends messages without a body, and waits until they were answered.
func (h *realHAProxy) control(kinds ...peers.Kind) {
	h.t.Helper()
	var b []byte
	for _, k := range kinds {
		b = peers.AppendControl(b, k)
	}
	h.send(b)
	h.settle()
}

// settle waits for longer than a pause between two reads.
func (h *realHAProxy) settle() {
	time.Sleep(2 * readPause)
	synctest.Wait()
}

// take returns what was received since the last time.
func (h *realHAProxy) take() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	got := h.got
	h.got = nil
	return got
}

// kinds returns the messages received since the last time.
func (h *realHAProxy) kinds() (all []peers.Kind) {
	h.t.Helper()
	b := h.take()
	for len(b) > 0 {
		m, n, err := peers.NextMessage(b)
		if err != nil || n == 0 {
			h.t.Fatalf("%x: %v", b, err)
		}
		all, b = append(all, m.Kind), b[n:]
	}
	return all
}

func (h *realHAProxy) gone() bool {
	select {
	case <-h.quit:
		return true
	default:
		return false
	}
}

func hello(name string, pid int) string {
	return fmt.Sprintf("HAProxyS 2.1\n%s\n%s %d 1\n", Name, name, pid)
}

// ha connects and has said hello.
func (x *trial) ha(name string, pid int) *realHAProxy {
	x.t.Helper()
	h := x.connect(hello(name, pid))
	time.Sleep(askAfter)
	synctest.Wait()
	if got, found := bytes.CutPrefix(h.take(), []byte("200\n")); !found || !bytes.Equal(got, []byte{0, 0}) {
		x.t.Fatalf("hello answered with %q", got)
	}
	return h
}

// What is no hello for edgeguard gets the status that says why, counts as refused, and
// is closed.
func TestRefusedHello(t *testing.T) {
	for _, one := range []struct{ hello, status, why string }{
		{"HAProxyS 2.0\nedgeguard\nha1 1 1\n", "502\n", "2.1"},
		{"HAProxyS 2.1\nother\nha1 1 1\n", "503\n", `"other"`},
		{"GET / HTTP/1.1\nHost: x\n\n", "501\n", "not HAProxy"},
		{"HAProxyS 2.1\nedgeguard\nha1\n", "501\n", "third line"},
		{strings.Repeat("x", 2000), "501\n", "longer than"},
	} {
		t.Run(one.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newTrial(t, Config{})
				h := x.connect(one.hello)
				if got := string(h.take()); got != one.status || !h.gone() {
					t.Errorf("answered %q, closed %v", got, h.gone())
				}
				if s := x.server.Stats(); s.Refused != 1 || !strings.Contains(s.Hello, one.why) || len(s.HAProxies) != 0 {
					t.Errorf("%+v", s)
				}
				x.wantHappened(one.why)
				x.ha("ha1", 1)
				if s := x.server.Stats(); s.Hello != "" {
					t.Errorf("after a good hello: %q", s.Hello)
				}
			})
		})
	}
}

// Who connects and says nothing, or half of it, is closed when his time is up.
func TestSlowHello(t *testing.T) {
	for _, text := range []string{"", "HAProxyS 2.1\nedgeg"} {
		synctest.Test(t, func(t *testing.T) {
			x := newTrial(t, Config{})
			h := x.connect(text)
			time.Sleep(helloFor - time.Millisecond)
			synctest.Wait()
			if h.gone() {
				t.Error("closed too early")
			}
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			if !h.gone() {
				t.Error("still open")
			}
		})
	}
}

// Connections that say nothing keep no HAProxy out, however many they are.
func TestSilentCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTrial(t, Config{})
		first := x.ha("first", 1)
		for range 3 * places {
			x.connect("")
		}
		time.Sleep(time.Second) // package lobby gives each a moment to ask
		x.ha("second", 1)
		if s := x.server.Stats(); first.gone() || len(s.HAProxies) != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// A resync request is answered immediately: all blocks, then that these were all. The
// end of HAProxy's own is confirmed, without which it stays silent.
func TestResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(entry("192.0.2.1"), entry("2001:db8::"))
		x := newTrial(t, Config{Blocks: []peers.Definition{blocks}, Follow: func(string) Follower { return f }})
		h := x.connect(hello("ha1", 1))
		h.mu.Lock()
		h.got = bytes.TrimPrefix(h.got, []byte("200\n"))
		h.mu.Unlock()
		if got := h.kinds(); !slices.Equal(got, []peers.Kind{peers.TableDefinition, peers.TimedUpdateWithID, peers.TimedUpdateWithID}) {
			t.Errorf("at first: %v", got)
		}
		h.control(peers.ResyncRequest)
		if got := h.kinds(); !slices.Equal(got, []peers.Kind{peers.TimedUpdateWithID, peers.TimedUpdateWithID, peers.ResyncFinished, peers.ResyncRequest}) {
			t.Errorf("resync: %v", got)
		}
		h.control(peers.ResyncPartial)
		if got := h.kinds(); !slices.Equal(got, []peers.Kind{peers.ResyncConfirm}) {
			t.Errorf("confirm: %v", got)
		}
		if s := x.server.Stats(); s.Taught != 4 || s.HAProxies[0].Taught != 4 {
			t.Errorf("%+v", s)
		}
	})
}

// What becomes due while a connection is idle is taught then, and what is due later
// when its time comes.
func TestTeaching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		x := newTrial(t, Config{Blocks: []peers.Definition{blocks}, Follow: func(string) Follower { return f }})
		h := x.ha("ha1", 1)
		f.add(entry("192.0.2.1"), 0)
		synctest.Wait()
		if got := h.kinds(); !slices.Equal(got, []peers.Kind{peers.TableDefinition, peers.TimedUpdateWithID}) {
			t.Errorf("%v", got)
		}
		f.add(entry("192.0.2.2"), 2*time.Second)
		synctest.Wait()
		if got := h.kinds(); len(got) != 0 {
			t.Errorf("too early: %v", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := h.kinds(); !slices.Equal(got, []peers.Kind{peers.TimedUpdateWithID}) {
			t.Errorf("%v", got)
		}
	})
}

// Silence is broken every three seconds, also while entries keep the writer from
// sleeping that long. A HAProxy that sends nothing itself is dead.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTrial(t, Config{})
		h := x.ha("ha1", 1)
		for range 4 {
			h.control(peers.Heartbeat)
			time.Sleep(heartbeatEvery - 2*readPause)
			synctest.Wait()
			if got := h.kinds(); !slices.Equal(got, []peers.Kind{peers.Heartbeat}) {
				t.Errorf("%v", got)
			}
		}
		time.Sleep(2*silence + time.Second)
		synctest.Wait()
		if !h.gone() || !x.logged("not even a heartbeat") {
			t.Errorf("gone %v: %v", h.gone(), x.log)
		}
		if s := x.server.Stats(); len(s.HAProxies) != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// Updates are acknowledged, by table and with the last of them alone.
func TestAcknowledge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTrial(t, Config{})
		h := x.ha("ha1", 1)
		d := &peers.Definition{ID: 9, Name: "/t", Key: peers.IPv6, KeyBytes: 16, Stored: []peers.Stored{{Type: peers.GPC, Elements: 1}}}
		b := peers.AppendDefinition(nil, d)
		for id := range uint32(3) {
			b = peers.AppendUpdate(b, &peers.Update{Table: d, ID: id + 1<<31, Key: make([]byte, 16), Numbers: []uint64{1}})
		}
		h.send(b)
		h.settle()
		if got, want := h.take(), peers.AppendAcknowledge(nil, 9, 2+1<<31); !bytes.HasPrefix(got, want) {
			t.Errorf("%x, want %x", got, want)
		}
	})
}

// What breaks the protocol ends the connection, and no other.
func TestBroken(t *testing.T) {
	for what, b := range map[string][]byte{
		"an update without a table": peers.AppendUpdate(nil, &peers.Update{Table: &peers.Definition{Key: peers.IPv6}, Key: make([]byte, 16)}),
		"a switch to no table":      peers.AppendSwitch(nil, 3),
		"a protocol error":          peers.AppendControl(nil, peers.ProtocolError),
		"a message of 64 MiB":       {10, 128, 0xf0, 0xff, 0xff, 0xff, 0x0f},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newTrial(t, Config{})
				other, h := x.ha("other", 1), x.ha("ha1", 1)
				h.send(b)
				h.settle()
				if !h.gone() || other.gone() {
					t.Errorf("gone %v, the other %v", h.gone(), other.gone())
				}
			})
		})
	}
}

// One connection for each name: the last to connect wins. Names beyond the bound are
// turned away without an answer, so that HAProxy tries again.
func TestOneForEachName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTrial(t, Config{})
		first := x.ha("ha0", 1)
		x.ha("ha0", 2)
		if !first.gone() || !x.logged("connected again") {
			t.Errorf("gone %v, %v", first.gone(), x.log)
		}
		for i := range maxHAProxies - 1 {
			x.ha(fmt.Sprintf("ha%d", i+1), 1)
		}
		h := x.connect(hello("more", 1))
		if got := h.take(); len(got) != 0 || !h.gone() {
			t.Errorf("answered %q, gone %v", got, h.gone())
		}
		x.wantHappened("turned away")
		again := x.ha("ha3", 7)
		if s := x.server.Stats(); len(s.HAProxies) != maxHAProxies || s.Refused != 1 || again.gone() {
			t.Errorf("%+v", s)
		}
	})
}

// A HAProxy that does not read is given up: it holds neither the others nor the end of
// the program.
func TestHAProxyDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTrial(t, Config{})
		h := x.deaf(hello("deaf", 1))
		synctest.Wait()
		x.ha("ha1", 1)
		time.Sleep(writeFor + time.Millisecond)
		synctest.Wait()
		if s := x.server.Stats(); len(s.HAProxies) != 1 || s.HAProxies[0].Name != "ha1" {
			t.Errorf("%+v", s)
		}
		if !x.logged("did not read") {
			t.Errorf("log: %q", x.log)
		}
		if _, err := h.conn.Write([]byte{0, 4}); err == nil {
			t.Error("still open")
		}
	})
}

// The log says in words which side ended a connection.
func TestWhy(t *testing.T) {
	system := func(call string, err error) error {
		return &net.OpError{Op: call, Net: "unix", Err: os.NewSyscallError(call, err)}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{io.EOF, "HAProxy closed"}, {system("write", syscall.EPIPE), "HAProxy closed"}, {system("read", syscall.ECONNRESET), "HAProxy closed"},
		{context.Canceled, "edgeguard closed"}, {&net.OpError{Op: "read", Net: "unix", Err: net.ErrClosed}, "edgeguard closed"},
		{errRetired, "it connected again"}, {errSilent, "nothing came for"},
	} {
		if got := disconnectReason(c.err); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %q", c.err, got)
		}
	}
}

// fake is a follower whose entries a test adds.
type fake struct {
	due chan struct{}

	mu   sync.Mutex // guards what is below
	all  []peers.Taught
	next []peers.Taught
	at   time.Time // when next is due
	held []string
}

func newFake(all ...peers.Taught) *fake {
	return &fake{due: make(chan struct{}, 1), all: all, next: all}
}

func (f *fake) add(t peers.Taught, in time.Duration) {
	f.mu.Lock()
	f.all, f.next, f.at = append(f.all, t), append(f.next, t), time.Now().Add(in)
	f.mu.Unlock()
	f.due <- struct{}{}
}

func (f *fake) Due() <-chan struct{} { return f.due }

func (f *fake) Take(now time.Time, into []peers.Taught) ([]peers.Taught, time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Before(f.at) {
		return into[:0], f.at
	}
	n := min(len(f.next), cap(into))
	into, f.next = append(into[:0], f.next[:n]...), f.next[n:]
	if len(f.next) > 0 {
		return into, now
	}
	return into, time.Time{}
}

func (f *fake) Again() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = f.all
}

func (f *fake) Leave() {}

func (f *fake) Holds(_ time.Time, table int, key netip.Addr, value uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = append(f.held, fmt.Sprint(table, key, value))
}

func entry(addr string) peers.Taught {
	return peers.Taught{Entry: peers.Entry{Key: netip.MustParseAddr(addr), Value: 1, TTL: time.Minute}}
}

// A process of another user is turned away before a byte is read.
func TestTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &trial{t: t, pipes: &pipes{come: make(chan net.Conn), closed: make(chan struct{})}}
		x.server = New(Config{Now: time.Now, Cut: new(sync.Mutex), Tally: peers.NewTally(100), Log: func(string, ...any) {}, Happened: func(text string) { x.happened = append(x.happened, text) }})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			done <- x.server.Serve(ctx, x.pipes, func(context.Context, net.Conn) (net.Conn, error) { return nil, errors.New("user nobody") })
		}()
		near, far := net.Pipe()
		x.pipes.come <- near
		if _, err := far.Read(make([]byte, 1)); err == nil {
			t.Error("it was answered")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		x.wantHappened("user nobody")
		if s := x.server.Stats(); s.Strangers != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// counts is a table of the wire, with two columns.
var counts = peers.Definition{ID: 3, Name: "/counts_1", Key: peers.IPv6, KeyBytes: 16, Expire: 10 * time.Minute, Stored: []peers.Stored{{Type: peers.GPC, Elements: 2}}}

func counted(d *peers.Definition, id uint32, addr string, numbers ...uint64) []byte {
	key := netip.MustParseAddr(addr).As16()
	return peers.AppendUpdate(nil, &peers.Update{Table: d, ID: id, Key: key[:], Numbers: numbers})
}

// What the tables have at first is where counting begins; what they have more is counted.
// What an older connection sends is not, nor is a table of other rules.
func TestCounting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards got
		got := map[string]uint32{}
		x := newTrial(t, Config{Table: "counts_1", Columns: 2, Count: func() Counter {
			return func(_ time.Time, table string, increases []peers.Increase) peers.Outcome {
				mu.Lock()
				defer mu.Unlock()
				for _, in := range increases {
					got[fmt.Sprint(in.Key, " ", in.Column)] += in.N
				}
				return peers.Outcome{Known: table == "counts_1"}
			}
		}})
		h := x.ha("ha1", 1)
		first := append(peers.AppendDefinition(nil, &counts), counted(&counts, 1, "192.0.2.1", 100, 7)...)
		h.send(peers.AppendControl(first, peers.ResyncFinished))
		h.settle()
		h.control(peers.ResyncFinished) // a second one is asked for: see peers.Session.Resynced
		h.settle()
		h.send(counted(&counts, 2, "192.0.2.1", 103, 7))
		h.send(counted(&counts, 3, "2001:db8::", 1, 1))
		h.settle()
		other := counts
		other.ID, other.Name = 4, "/counts_2"
		h.send(append(peers.AppendDefinition(nil, &other), counted(&other, 1, "192.0.2.1", 1000, 1000)...))
		h.settle()
		x.ha("ha1", 2)
		h.send(counted(&counts, 4, "192.0.2.1", 500, 500))
		h.settle()
		want := map[string]uint32{"192.0.2.1 0": 3, "2001:db8:: 0": 1, "2001:db8:: 1": 1}
		if !maps.Equal(got, want) {
			t.Errorf("counted %v, want %v", got, want)
		}
		if s := x.server.Stats(); s.Counted != 5 || s.Uncounted != 0 || s.Requests != 4 || s.LastCounted.IsZero() {
			t.Errorf("%+v", s)
		}
	})
}

// HAProxy sends an entry between the two steps that one request makes: where a column counts each
// request, it is one. What no rule counted is not called counted.
func TestRequests(t *testing.T) {
	for every, want := range map[int]uint64{0: 4, NoColumn: 5} {
		synctest.Test(t, func(t *testing.T) {
			lost := peers.Outcome{Known: true}
			x := newTrial(t, Config{Table: "counts_1", Columns: 2, Every: every, Count: func() Counter {
				return func(time.Time, string, []peers.Increase) peers.Outcome { return lost }
			}})
			h := x.ha("ha1", 1)
			for range 2 {
				h.send(peers.AppendControl(peers.AppendDefinition(nil, &counts), peers.ResyncFinished))
				h.settle()
			}
			h.send(counted(&counts, 1, "192.0.2.1", 3, 3))
			h.settle()
			h.send(counted(&counts, 2, "192.0.2.1", 4, 3))
			h.settle()
			h.send(counted(&counts, 3, "192.0.2.1", 4, 4))
			h.settle()
			if s := x.server.Stats(); s.Requests != want || s.Counted != 8 || s.Uncounted != 0 {
				t.Errorf("every request in column %d: %+v, want %d requests", every, s, want)
			}
			before := x.server.Stats().LastCounted
			lost.Late, lost.Lost, lost.LateSteps = 6, 6, 12
			h.send(counted(&counts, 4, "192.0.2.1", 10, 10))
			h.settle()
			if s := x.server.Stats(); s.Requests != want || s.Counted != 8 || s.Uncounted != 12 || s.Late != 6 || !s.LastCounted.Equal(before) {
				t.Errorf("six that no rule counted: %+v", s)
			}
		})
	}
}

// Who may speak as HAProxy asks for everything all the time, and says that he sent
// everything: he is taught once a second, and what is written for him has a bound.
func TestEndlessResyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		x := newTrial(t, Config{Blocks: []peers.Definition{blocks}, Follow: func(string) Follower { return f }})
		h := x.ha("ha1", 7)
		h.settle()
		h.take()
		for range 40 { // for 1.6 s
			h.send(bytes.Repeat([]byte{0, 0, 0, 1}, 1000)) // resync request, resync finished
			h.settle()
		}
		n := map[peers.Kind]int{}
		for _, k := range h.kinds() {
			n[k]++
		}
		if got := n[peers.ResyncFinished]; got != 2 {
			t.Errorf("all was taught %d times", got)
		}
		if got := n[peers.ResyncConfirm]; got < 40 || got > 2*40*mostConfirms {
			t.Errorf("%d ends of resyncs were confirmed", got)
		}
		time.Sleep(resyncEvery)
		synctest.Wait()
		if !slices.Contains(h.kinds(), peers.ResyncFinished) {
			t.Error("the last request is not answered")
		}
	})
}

// Who may speak as HAProxy connects without end: the log has a bound. One that comes later
// is served.
func TestEndlessConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTrial(t, Config{})
		for i := range 10 * atOnce {
			_ = x.connect(hello("ha1", i+1)).conn.Close()
		}
		synctest.Wait()
		x.mu.Lock()
		lines, happened := len(x.log), len(x.happened)
		x.mu.Unlock()
		if lines > 2*atOnce || happened == 0 {
			t.Errorf("%d lines of the log, %d times reported", lines, happened)
		}
		time.Sleep(oneEvery)
		if h := x.ha("ha1", 10000); h.gone() {
			t.Error("it was turned away a second later")
		}
	})
}
