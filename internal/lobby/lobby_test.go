package lobby

import (
	"io"
	"net"
	"testing"
	"time"
)

// pipes is a listener of connections in memory.
type pipes struct {
	net.Listener
	come chan net.Conn
}

func (p pipes) Accept() (net.Conn, error) { return <-p.come, nil }

// guest is one connection from both sides.
type guest struct {
	*Conn
	far net.Conn
}

// house is a lobby with guests who come and are served when the test says so.
type house struct {
	t     *testing.T
	lobby *Listener
	come  chan net.Conn
}

func newHouse(t *testing.T, places int) *house {
	come := make(chan net.Conn, 1)
	return &house{t: t, come: come, lobby: Listen(pipes{come: come}, places, "full")}
}

// enter has a guest come in. Whoever is closed for him leaves, as his server
// would see to.
func (h *house) enter() guest {
	h.t.Helper()
	near, far := net.Pipe()
	h.come <- near
	c, err := h.lobby.Accept()
	if err != nil {
		h.t.Fatal(err)
	}
	g := guest{c.(*Conn), far}
	g.came = noon // long ago
	go func() {   // the server: it reads until the connection ends
		_, _ = io.Copy(io.Discard, g.Conn)
		g.Leave()
	}()
	h.t.Cleanup(func() { _ = g.Close() })
	return g
}

// ask has a guest ask and be answered.
func (c *Conn) ask(now time.Time) {
	c.Asks(now)
	c.Answered()
}

func (h *house) gone(g guest) bool { return g.state.Load() == out }

func (h *house) wantGone(what string, g guest) {
	h.t.Helper()
	if !h.gone(g) {
		h.t.Errorf("%s is still there", what)
	}
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// Who never asked goes first, then who asked the longest ago; who is being
// answered stays.
func TestWhoGoesFirst(t *testing.T) {
	h := newHouse(t, 4)
	busy, silent, old, working := h.enter(), h.enter(), h.enter(), h.enter()
	busy.Asks(time.Now())
	old.ask(noon)
	working.ask(noon.Add(time.Second))
	second := h.enter()
	h.wantGone("who never asked", silent)
	second.ask(noon.Add(2 * time.Second))
	third := h.enter()
	h.wantGone("who asked the longest ago", old)
	third.ask(noon.Add(3 * time.Second))
	working.ask(noon.Add(4 * time.Second)) // as a proxy does
	fourth := h.enter()
	h.wantGone("who asked once", second)
	for name, g := range map[string]guest{"who is answered": busy, "who works": working, "who asked last": third, "who just came": fourth} {
		if h.gone(g) {
			t.Errorf("%s was closed", name)
		}
	}
	if s := h.lobby.Stats(); s.Open != 4 || s.Closed != 3 || s.Refused != 0 {
		t.Errorf("%+v", s)
	}
}

// A thousand that ask nothing, one after the other, move nobody who works.
func TestWhoWorksOutlivesAFlood(t *testing.T) {
	h := newHouse(t, 8)
	working := h.enter()
	for i := range 1000 {
		working.ask(noon.Add(time.Duration(i) * time.Second))
		h.enter()
		if i%3 == 0 { // some do ask, once
			h.enter().ask(noon.Add(time.Duration(i) * time.Second))
		}
	}
	if h.gone(working) {
		t.Error("who works was closed")
	}
}

// Who came just now has a moment to ask: those who asked once and idle go first,
// but not one that asks again and again.
func TestWhoComesHasAMoment(t *testing.T) {
	h := newHouse(t, 3)
	once, young, working := h.enter(), h.enter(), h.enter()
	once.ask(noon)
	young.came = time.Now().Add(time.Hour)
	working.ask(time.Now().Add(time.Hour))
	h.enter().came = time.Now().Add(time.Hour)
	h.wantGone("who asked once", once)
	if h.gone(young) || h.gone(working) {
		t.Error("who came just now, or works, was closed")
	}
}

// When all are being answered the new one is told so; an answer that takes too
// long does not keep him out.
func TestAllAnswered(t *testing.T) {
	h := newHouse(t, 2)
	stream, quick := h.enter(), h.enter()
	stream.Asks(time.Now())
	quick.Asks(time.Now())
	near, far := net.Pipe()
	next, after := net.Pipe()
	defer func() { _ = after.Close() }()
	told := make(chan string)
	go func() {
		text, _ := io.ReadAll(far)
		told <- string(text)
		stream.asked.Store(time.Now().Add(-slow - time.Second).UnixNano())
		h.come <- next
	}()
	h.come <- near
	done := make(chan *Conn)
	go func() {
		c, _ := h.lobby.Accept()
		done <- c.(*Conn)
	}()
	if text := <-told; text != "full" {
		t.Errorf("told %q", text)
	}
	(<-done).Leave()
	h.wantGone("whose answer takes too long", stream)
	if h.gone(quick) {
		t.Error("who was asked just now was closed")
	}
	if s := h.lobby.Stats(); s.Refused != 1 || s.Closed != 1 {
		t.Errorf("%+v", s)
	}
}

// Who was closed for another is not answered any more, and a place is given
// back once.
func TestClosedIsNotAnswered(t *testing.T) {
	h := newHouse(t, 1)
	first := h.enter()
	second := h.enter()
	if first.Asks(noon) {
		t.Error("a closed connection is answered")
	}
	first.Leave()
	if s := h.lobby.Stats(); s.Open != 1 {
		t.Errorf("%+v", s)
	}
	for _, which := range []string{"first", "pipelined"} {
		if !second.Asks(noon) {
			t.Errorf("an open connection is not answered: the %s question", which)
		}
	}
}

// room is a lobby of real connections, whose bytes nobody reads.
type room struct {
	t     *testing.T
	lobby *Listener
}

func newRoom(t *testing.T, places int) room {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return room{t, Listen(l, places, "")}
}

// enter has a client come at a time and say something, which has arrived when
// enter returns.
func (r room) enter(came time.Time, says string) *Conn {
	r.t.Helper()
	far, err := net.Dial("tcp", r.lobby.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = far.Close() })
	near, err := r.lobby.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = near.Close() })
	c := near.(*Conn)
	c.came = came
	if _, err := io.WriteString(far, says); err != nil {
		r.t.Fatal(err)
	}
	for says != "" && !pending(c.Conn) {
		time.Sleep(time.Millisecond)
	}
	return c
}

// wantNext makes room and wants one to go for it.
func (r room) wantNext(who string, c *Conn) {
	r.t.Helper()
	if got := r.lobby.choose(noon); got != c {
		r.t.Fatalf("%s stays", who)
	}
	c.Leave()
}

// Who has asked just now is passed over, if he waits or if he idles: his request
// has come, and nobody has got to reading it.
func TestWhoAsksJustNowStays(t *testing.T) {
	r := newRoom(t, 3)
	longAgo := noon.Add(-time.Hour)
	asks, silent, idle := r.enter(longAgo, "GET /"), r.enter(longAgo, ""), r.enter(longAgo, "GET /")
	if _, err := asks.Read(make([]byte, 9)); err != nil { // its server got that far
		t.Fatal(err)
	}
	r.wantNext("who is silent", silent)
	other := r.enter(longAgo, "")
	other.ask(noon)
	idle.ask(noon.Add(-time.Second)) // his next one has come
	asks.Asks(noon)
	r.wantNext("who idles", other)
	r.wantNext("the last", idle)
}

// A program that gets no processor for longer than a moment finds the proxy's
// question unread, and strangers who came later and ask nothing: they go first,
// and so does a request that has begun and does not go on.
func TestWhoIsNotReadYetStays(t *testing.T) {
	r := newRoom(t, 5)
	asked := r.enter(noon.Add(-2*moment), "GET /")
	stalled := r.enter(noon.Add(-2*moment), "GE")
	if _, err := stalled.Read(make([]byte, 9)); err != nil {
		t.Fatal(err)
	}
	young, younger := r.enter(noon.Add(-moment/2), ""), r.enter(noon.Add(-moment/3), "")
	idle := r.enter(noon.Add(-time.Hour), "")
	idle.ask(noon)
	r.wantNext("who stalled", stalled)
	r.wantNext("who asks nothing", young)
	r.wantNext("who asks nothing either", younger)
	r.wantNext("who idles", idle)
	r.wantNext("the last", asked)
}
