package spoe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/haproxy/spop"
	"edgeguard/haproxy/spop/spoptest"
	"edgeguard/sensor/inline"
)

var (
	client4 = netip.MustParseAddr("203.0.113.9")
	client6 = netip.MustParseAddr("2001:db8::9")
	clock   = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
)

func anyone(_ context.Context, c net.Conn) (net.Conn, error) { return c, nil }

func passAll(time.Time, *edgeguard.Event) edgeguard.Verdict { return edgeguard.Verdict{} }

// alarms keeps what was raised.
type alarms struct {
	mu  sync.Mutex // guards all
	all []string
}

func (a *alarms) raise(kind, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, kind+": "+text)
}

func (a *alarms) raised() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.all)
}

// start serves on a unix socket until the test ends.
func start(t *testing.T, c inline.Config) (*Server, string) {
	t.Helper()
	return startFor(t, c, anyone)
}

// startFor is start with who may speak.
func startFor(t *testing.T, c inline.Config, admit func(context.Context, net.Conn) (net.Conn, error)) (*Server, string) {
	t.Helper()
	if c.Decide == nil {
		c.Decide = passAll
	}
	if c.Now == nil {
		c.Now = func() time.Time { return clock }
	}
	s, err := New(c, admit)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "spoe.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, path
}

// haproxy is the other side of a connection.
type haproxy struct {
	t *testing.T
	net.Conn
	in []byte
}

func dial(t *testing.T, path string) *haproxy {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &haproxy{t: t, Conn: c}
}

// greeted returns a connection after the HELLOs.
func greeted(t *testing.T, path string) *haproxy {
	t.Helper()
	h := dial(t, path)
	h.send(spoptest.Hello("2.0", spop.UsualFrame, false))
	if f := h.next(); f.Type != spop.TypeAgentHello {
		t.Fatalf("%+v", f)
	}
	return h
}

func (h *haproxy) send(frames ...[]byte) {
	h.t.Helper()
	if _, err := h.Write(bytes.Join(frames, nil)); err != nil {
		h.t.Fatal(err)
	}
}

// next reads a frame; its type is 0 if the connection has ended.
func (h *haproxy) next() spop.Frame {
	h.t.Helper()
	for {
		f, size, err := spop.NextFrame(h.in, spop.UsualFrame)
		if err != nil {
			h.t.Fatal(err)
		}
		if size > 0 {
			f.Payload = bytes.Clone(f.Payload)
			h.in = h.in[size:]
			return f
		}
		b := make([]byte, 4096)
		n, err := h.Read(b)
		if h.in = append(h.in, b[:n]...); n == 0 && err != nil {
			if !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
				h.t.Fatal(err)
			}
			return spop.Frame{}
		}
	}
}

// vars reads an answer and returns its variables.
func (h *haproxy) vars(stream, id uint64) map[string]any {
	h.t.Helper()
	f := h.next()
	vars, ok := spoptest.Vars(f.Payload)
	if f.Type != spop.TypeAck || f.Stream != stream || f.ID != id || !ok || vars["action"] == nil {
		h.t.Fatalf("%+v", f)
	}
	return vars
}

func arg(name string, value any) spoptest.Arg { return spoptest.Arg{Name: name, Value: value} }

func TestVerdicts(t *testing.T) {
	var asked []edgeguard.Event
	_, path := start(t, inline.Config{Decide: func(now time.Time, e *edgeguard.Event) edgeguard.Verdict {
		if now != clock || e.Time != clock {
			t.Errorf("decided at %v, the event is of %v", now, e.Time)
		}
		kept := *e
		kept.KeepTexts(strings.Clone)
		if e.Header != nil {
			v, ok := e.Header("x-api-key")
			kept.Node = fmt.Sprintf("%s %v", v, ok)
		}
		kept.Header = nil
		asked = append(asked, kept)
		switch e.Path {
		case "/login?a=1":
			return edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: "login", RetryAfter: 90*time.Second + 1}
		case "/shadow":
			return edgeguard.Verdict{Action: edgeguard.ActionShadow, Rule: "try"}
		case "/soon":
			return edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: "anmeldung-für\r\nX: y"}
		}
		return edgeguard.Verdict{}
	}})
	h := greeted(t, path)
	all := edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldAgent | edgeguard.FieldReferer | edgeguard.FieldFetchSite
	for i, c := range []struct {
		args []spoptest.Arg
		want edgeguard.Event
		vars map[string]any
	}{
		{
			[]spoptest.Arg{arg("src", client4), arg("host", "a.example"), arg("method", "POST"), arg("path", "/login?a=1"), arg("agent", "curl/8"), arg("referer", nil), arg("fetch_site", "none")},
			edgeguard.Event{Addr: client4, Host: "a.example", Method: "POST", Path: "/login?a=1", Agent: "curl/8", FetchSite: "none", Known: all},
			map[string]any{"action": uint64(1), "retry_after": uint64(91), "rule": "login"},
		},
		{[]spoptest.Arg{arg("src", client6), arg("path", "/")}, edgeguard.Event{Addr: client6, Path: "/", Known: edgeguard.FieldPath}, map[string]any{"action": uint64(0)}},
		{[]spoptest.Arg{arg("src", netip.MustParseAddr("::ffff:203.0.113.9"))}, edgeguard.Event{Addr: client4}, map[string]any{"action": uint64(0)}},
		{[]spoptest.Arg{arg("src", client4), arg("path", "/shadow"), arg("later", "?")}, edgeguard.Event{Addr: client4, Path: "/shadow", Known: edgeguard.FieldPath}, map[string]any{"action": uint64(0)}},
		{
			[]spoptest.Arg{arg("src", client4), arg("path", "/soon"), arg("header:X-Api-Key", "k"), arg("header:other", nil)},
			edgeguard.Event{Addr: client4, Path: "/soon", Known: edgeguard.FieldPath | edgeguard.FieldHeader, Node: "k true"},
			map[string]any{"action": uint64(1), "retry_after": uint64(1), "rule": "anmeldung-f??r??X: y"},
		},
		{
			[]spoptest.Arg{arg("src", client4), arg("agent", uint32(1)), arg("header:X-Api-Key", nil)},
			edgeguard.Event{Addr: client4, Known: edgeguard.FieldHeader, Node: " false"}, map[string]any{"action": uint64(0)},
		},
	} {
		h.send(spoptest.Notify(uint64(300+i), uint64(i+1), c.args...))
		if vars := h.vars(uint64(300+i), uint64(i+1)); fmt.Sprint(vars) != fmt.Sprint(c.vars) {
			t.Errorf("%d: %v, want %v", i, vars, c.vars)
		}
		want := c.want
		want.Time, want.Kind, want.Verified, want.Named = clock, edgeguard.KindRequest, edgeguard.KindRequest, true
		if got := asked[len(asked)-1]; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%d:\n%+v, want\n%+v", i, got, want)
		}
	}
}

// What was sent together is answered, each by its own numbers, and in one write.
func TestPipelining(t *testing.T) {
	s, path := start(t, inline.Config{Decide: func(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
		if e.Path == "/deny" {
			return edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: "r"}
		}
		return edgeguard.Verdict{}
	}})
	h := greeted(t, path)
	const many = 3000 // more than one buffer, in and out
	go func() {
		var all []byte
		for i := range uint64(many) {
			to := "/"
			if i%2 == 1 {
				to = "/deny"
			}
			all = append(all, spoptest.Notify(i, i*i, arg("src", client4), arg("path", to))...)
		}
		_, _ = h.Write(all)
	}()
	for i := range uint64(many) {
		if vars := h.vars(i, i*i); vars["action"] != i%2 {
			t.Fatalf("%d: %v", i, vars)
		}
	}
	if got := s.Stats(); got.Passed != many/2 || got.Refused != many/2 {
		t.Errorf("%+v", got)
	}
}

// A frame as long as was agreed is read, whatever the pieces it arrives in.
func TestLongFrame(t *testing.T) {
	for _, size := range []uint32{spop.LeastFrame, spop.UsualFrame, mostFrame} {
		longest := 0
		_, path := start(t, inline.Config{Decide: func(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
			longest = len(e.Path)
			return edgeguard.Verdict{}
		}})
		h := dial(t, path)
		h.send(spoptest.Hello("2.0", size, false))
		h.next()
		frame := func(n int) []byte {
			return spoptest.Notify(1, 1, arg("src", client4), arg("path", strings.Repeat("x", n)))
		}
		n := int(size)
		for len(frame(n)) > int(size)+4 {
			n--
		}
		whole := frame(n)
		for piece := range slices.Chunk(whole, max(len(whole)/10, 1)) {
			h.send(piece)
		}
		if h.vars(1, 1); longest != n {
			t.Errorf("a path of %d bytes, want %d", longest, n)
		}
		h.send(frame(n + 1))
		if f := h.next(); f.Type != spop.TypeAgentDisconnect || !strings.Contains(string(f.Payload), "frame is too big") {
			t.Errorf("a frame longer than %d: %+v", size, f)
		}
	}
}

func TestHealthCheck(t *testing.T) {
	var raised alarms
	s, path := start(t, inline.Config{Alarm: raised.raise})
	h := dial(t, path)
	h.send(spoptest.Hello("2.0", spop.UsualFrame, true))
	if f := h.next(); f.Type != spop.TypeAgentHello {
		t.Errorf("%+v", f)
	}
	if f := h.next(); f.Type != 0 {
		t.Errorf("after the HELLO: %+v", f)
	}
	if got := s.Stats(); got != (Stats{Checks: 1}) || raised.raised() != nil {
		t.Errorf("%+v, %q", got, raised.raised())
	}
}

// What is not SPOP gets a DISCONNECT with the reason and one alarm. Other
// connections go on.
func TestFaults(t *testing.T) {
	fragment := spoptest.Notify(1, 1)
	fragment[8] = 0
	hello := spoptest.Hello("2.0", spop.UsualFrame, false)
	for name, c := range map[string]struct {
		send   []byte
		status string
		kind   string
	}{
		"version":        {spoptest.Hello("1.0", spop.UsualFrame, false), "unsupported version", alarmHello},
		"small frames":   {spoptest.Hello("2.0", 255, false), "max-frame-size too big or too small", alarmHello},
		"no frame size":  {spoptest.Frame(spop.TypeHello, 0, 0, spoptest.Pair(nil, "supported-versions", "2.0")), "max-frame-size value not found", alarmHello},
		"HTTP":           {[]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "frame is too big", alarmProtocol},
		"no HELLO":       {spoptest.Notify(1, 1, arg("src", client4)), "invalid frame received", alarmProtocol},
		"HELLO and more": {append(slices.Clone(hello), 0), "invalid frame received", alarmProtocol},
		"fragment":       {fragment, "fragmentation not supported", alarmProtocol},
		"a broken HELLO": {spoptest.Frame(spop.TypeHello, 0, 0, []byte{1}), "invalid frame received", alarmHello},
		"NUL":            {make([]byte, 100), "invalid frame received", alarmProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			var raised alarms
			s, path := start(t, inline.Config{Alarm: raised.raise})
			other := greeted(t, path)
			h := dial(t, path)
			h.send(c.send)
			f := h.next()
			if why, text, err := spop.ReadDisconnect(f.Payload); f.Type != spop.TypeAgentDisconnect || err != nil || string(text) != c.status || why.Error() != c.status {
				t.Errorf("%+v: %d, %q, %v", f, why, text, err)
			}
			h.Close()
			other.send(spoptest.Notify(7, 8, arg("src", client4)))
			other.vars(7, 8)
			all := raised.raised()
			if len(all) != 1 || !strings.HasPrefix(all[0], c.kind+": ") || !strings.Contains(all[0], c.status) {
				t.Errorf("alarms %q", all)
			}
			if got := s.Stats(); got.Faults != 1 || got.Passed != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// After the HELLO, too: what was whole before the fault is answered.
func TestFaultLater(t *testing.T) {
	for name, bad := range map[string][]byte{
		"a HELLO again":  spoptest.Hello("2.0", spop.UsualFrame, false),
		"an ACK":         spoptest.Frame(spop.TypeAck, 1, 1, nil),
		"a cut argument": spoptest.Frame(spop.TypeNotify, 1, 1, []byte("\x01m\x01\x03src\x06\x01")),
		"DISCONNECT":     spoptest.Frame(spop.TypeDisconnect, 0, 0, []byte("\x01")),
	} {
		var raised alarms
		_, path := start(t, inline.Config{Alarm: raised.raise})
		h := greeted(t, path)
		h.send(spoptest.Notify(1, 2, arg("src", client4)), bad, spoptest.Notify(1, 3, arg("src", client4)))
		h.vars(1, 2)
		if f := h.next(); f.Type != spop.TypeAgentDisconnect || !strings.Contains(string(f.Payload), "invalid frame") {
			t.Errorf("%s: %+v", name, f)
		}
		if all := raised.raised(); len(all) != 1 || !strings.HasPrefix(all[0], alarmProtocol) {
			t.Errorf("%s: alarms %q", name, all)
		}
	}
}

// HAProxy's DISCONNECT is answered. Its reason is an alarm unless it is usual.
func TestDisconnect(t *testing.T) {
	for why, alarms0 := range map[spop.Status]int{spop.Normal: 0, 2: 0, spop.TooBig: 1, 99: 1} {
		var raised alarms
		_, path := start(t, inline.Config{Alarm: raised.raise})
		h := greeted(t, path)
		h.send(spoptest.Frame(spop.TypeDisconnect, 0, 0, spoptest.Pair(spoptest.Pair(nil, "status-code", uint32(why)), "message", "<b>")))
		if f := h.next(); f.Type != spop.TypeAgentDisconnect || !strings.Contains(string(f.Payload), "normal") {
			t.Errorf("%+v", f)
		}
		if f := h.next(); f.Type != 0 {
			t.Errorf("%+v", f)
		}
		if all := raised.raised(); len(all) != alarms0 || strings.Contains(fmt.Sprint(all), "<b>") {
			t.Errorf("%v: alarms %q", why, all)
		}
	}
}

// A request without an address passes, is reported as uncounted, and nothing is asked.
func TestNoClient(t *testing.T) {
	for _, lookUp := range []bool{false, true} {
		var raised alarms
		uncounted := 0
		s, path := start(t, inline.Config{LookUp: lookUp, Alarm: raised.raise,
			Decide: func(time.Time, *edgeguard.Event) edgeguard.Verdict {
				t.Error("it was asked")
				return edgeguard.Verdict{}
			},
			Uncounted: func(now time.Time, all []edgeguard.Uncounted) {
				if len(all) == 1 && all[0] == (edgeguard.Uncounted{Time: now, Reason: edgeguard.NoClient}) {
					uncounted++
				}
			}})
		h := greeted(t, path)
		for i, args := range [][]spoptest.Arg{{}, {arg("src", nil)}, {arg("src", "203.0.113.9")}, {arg("src", netip.IPv4Unspecified())}, {arg("path", "/")}} {
			h.send(spoptest.Notify(1, uint64(i), args...))
			if vars := h.vars(1, uint64(i)); vars["action"] != uint64(0) {
				t.Error(vars)
			}
		}
		want := 5
		if lookUp {
			want = 0
		}
		if got := s.Stats(); got.NoClient != 5 || got.Passed != 5 || uncounted != want || len(raised.raised()) != 5 {
			t.Errorf("%+v, %d uncounted, %q", got, uncounted, raised.raised())
		}
	}
}

func TestPanicPasses(t *testing.T) {
	var raised alarms
	var uncounted []edgeguard.Uncounted
	s, path := start(t, inline.Config{Alarm: raised.raise, Decide: func(time.Time, *edgeguard.Event) edgeguard.Verdict { panic("boom") },
		Uncounted: func(_ time.Time, all []edgeguard.Uncounted) { uncounted = append(uncounted, all...) }})
	h := greeted(t, path)
	for i := range uint64(2) {
		h.send(spoptest.Notify(1, i, arg("src", client4)))
		if vars := h.vars(1, i); vars["action"] != uint64(0) {
			t.Error(vars)
		}
	}
	if got := s.Stats(); got.Panics != 2 || got.Passed != 2 || len(raised.raised()) != 2 || !strings.Contains(raised.raised()[0], "boom") {
		t.Errorf("%+v, %q", got, raised.raised())
	}
	if want := (edgeguard.Uncounted{Time: clock, Addr: client4, Reason: edgeguard.DecisionFailed}); len(uncounted) != 2 || uncounted[0] != want {
		t.Errorf("%+v", uncounted)
	}
}

// A look-up is of no kind, and a HAProxy that learns its clients from a header says so
// of each.
func TestLookUpAndFronted(t *testing.T) {
	var got edgeguard.Event
	_, path := start(t, inline.Config{LookUp: true, Fronted: true, Decide: func(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
		got = *e
		return edgeguard.Verdict{}
	}})
	h := greeted(t, path)
	h.send(spoptest.Notify(1, 1, arg("src", client4)))
	if h.vars(1, 1); got.Kind != 0 || got.Verified != 0 || !got.Proxied || !got.Named {
		t.Errorf("%+v", got)
	}
}

// Whoever may not speak is not read, and learns nothing.
func TestStranger(t *testing.T) {
	var raised alarms
	s, path := startFor(t, inline.Config{Alarm: raised.raise}, func(context.Context, net.Conn) (net.Conn, error) { return nil, errors.New("user 1000 may not") })
	h := dial(t, path)
	_, _ = h.Write(append(spoptest.Hello("2.0", spop.UsualFrame, false), spoptest.Notify(1, 1, arg("src", client4))...)) // it may be closed already
	if f := h.next(); f.Type != 0 {
		t.Errorf("%+v", f)
	}
	if all := raised.raised(); len(all) != 1 || all[0] != alarmStranger+": a connection was closed: user 1000 may not" || s.Stats() != (Stats{Strangers: 1}) {
		t.Errorf("%q, %+v", all, s.Stats())
	}
}

func TestConfigErrors(t *testing.T) {
	for _, c := range []inline.Config{{}, {Decide: passAll, Connections: -1}} {
		if _, err := New(c, anyone); err == nil {
			t.Errorf("%+v", c)
		}
	}
	if _, err := New(inline.Config{Decide: passAll}, nil); err == nil {
		t.Error("nobody says who may speak")
	}
	s, err := New(inline.Config{Decide: passAll}, anyone)
	if err != nil {
		t.Fatal(err)
	}
	if s.Connections().Open != 0 || s.Shutdown(context.Background()) != nil {
		t.Error("a server that never served")
	}
}
