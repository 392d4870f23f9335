package accesslog

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/program"
	"edgeguard/logline"
)

// listening is a listener that runs.
type listening struct {
	*Listener
	heard *heard
	stop  func()
}

func listen(t *testing.T, h *heard, c ListenConfig) *listening {
	t.Helper()
	c.Now = time.Now
	if c.Decide == nil {
		c.Decide = h.decide
	}
	l, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop := func() { cancel(); <-done }
	t.Cleanup(stop)
	return &listening{l, h, stop}
}

// socketPath returns a short path: a socket's may have no more than 107 bytes.
func socketPath(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "eg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return filepath.Join(folder, "log.sock")
}

func dial(t *testing.T, network, address string) net.Conn {
	t.Helper()
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestListenDatagrams(t *testing.T) {
	path := socketPath(t)
	l := listen(t, &heard{}, ListenConfig{Live: Live{Format: format("combined")}, Address: "unixgram:" + path, Mode: 0o600})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	c := dial(t, "unixgram", path)
	line := strings.TrimSuffix(numbered(0), "\n")
	send(t, c, line)
	send(t, c, "<190>Nov 21 08:17:11 eg: "+numbered(1))
	send(t, c, "<190>Nov 21 08:17:11 web1 nginx: "+numbered(2)+"\x00")
	send(t, c, "")
	// A client's newline where a server does not escape: no line of its own.
	send(t, c, numbered(3)+numbered(9))
	send(t, c, strings.TrimSuffix(numbered(4), "\n")+strings.Repeat("x", 2*logline.MaxLine))
	send(t, c, numbered(5))
	program.Eventually(t, "six lines", func() bool { once, _ := l.heard.of(10); return once == 6 })
	if l.heard.times[9] != 0 {
		t.Error("a line inside a datagram was counted")
	}
	if s := l.Stats(); s.Datagrams != 7 || s.Cut != 0 || s.Skipped != 0 || s.Partial != 1 {
		t.Errorf("%+v", s)
	}
	l.stop()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket's file is left: %v", err)
	}
}

// TestListenBurst holds that a lone line waits for nothing, that lines which
// come while others are decided are decided together, and that all which had
// arrived are decided at the end.
func TestListenBurst(t *testing.T) {
	for _, network := range []string{"unixgram", "unix"} {
		t.Run(network, func(t *testing.T) {
			path := socketPath(t)
			l := listen(t, &heard{}, ListenConfig{Live: Live{Format: format("combined")}, Address: network + ":" + path})
			c := dial(t, network, path)
			send(t, c, numbered(0))
			program.Eventually(t, "the lone line", func() bool { once, _ := l.heard.of(1); return once == 1 })
			const n = 20000
			for i := 1; i < n; i++ {
				send(t, c, numbered(i)) // it waits where the queue is full
			}
			l.stop()
			program.Eventually(t, "all lines", func() bool { once, _ := l.heard.of(n); return once == n })
			if _, twice := l.heard.of(n); twice > 0 {
				t.Errorf("%d twice", twice)
			}
			t.Logf("at most %d at once, %d times full", l.heard.largest, l.Stats().Full)
		})
	}
}

func TestListenStreams(t *testing.T) {
	l := listen(t, &heard{}, ListenConfig{Address: "tcp:127.0.0.1:0", MaxConnections: 2})
	a, b := dial(t, "tcp", l.Addr().String()), dial(t, "tcp", l.Addr().String())
	send(t, a, numbered(0)+numbered(1)[:30])
	send(t, b, "<190>Nov 21 08:17:11 web1 caddy: "+numbered(2))
	program.Eventually(t, "two lines", func() bool { once, _ := l.heard.of(10); return once == 2 })
	send(t, a, numbered(1)[30:])
	send(t, b, strings.Repeat("x", 3*blockSize)+"\n"+numbered(3))
	program.Eventually(t, "four lines", func() bool { once, _ := l.heard.of(10); return once == 4 })

	c := dial(t, "tcp", l.Addr().String())
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("a third connection stays open")
	}
	program.Eventually(t, "it is said", func() bool { return l.Stats().Err != nil })
	send(t, b, numbered(4)[:20]) // "192.0.2.4 - - [20/Fe"
	b.Close()
	program.Eventually(t, "the connection is gone", func() bool { return l.Stats().Open == 1 })
	send(t, dial(t, "tcp", l.Addr().String()), numbered(5))
	program.Eventually(t, "five lines", func() bool { once, _ := l.heard.of(10); return once == 5 })
	if s := l.Stats(); s.Connections != 3 || s.Refused != 1 || s.Broken != 1 || s.Skipped != 1 || s.Err != nil {
		t.Errorf("%+v", s)
	}
}

func TestListenAddress(t *testing.T) {
	path := socketPath(t)
	live := Live{Now: time.Now, Decide: (&heard{}).decide}
	config := func(address string) ListenConfig { return ListenConfig{Live: live, Address: address} }
	try := func(address string) string {
		l, err := Listen(config(address))
		if err != nil {
			return err.Error()
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		l.Run(ctx)
		return ""
	}
	for _, address := range []string{"", "unix:", "udp:127.0.0.1", "udp:", "tcp", path, "tcp:127.0.0.1"} {
		if got := try(address); got == "" {
			t.Errorf("%q is accepted", address)
		}
	}
	// A killed process leaves its file: it is replaced, by either kind.
	for _, network := range []string{"unix", "unixgram"} {
		stale(t, network, path)
		if got := try("unixgram:" + path); got != "" {
			t.Errorf("a stale %s socket: %s", network, got)
		}
		listen(t, &heard{}, ListenConfig{Address: network + ":" + path})
		for _, other := range []string{"unix", "unixgram"} {
			if got := try(other + ":" + path); !strings.Contains(got, "in use by another process") {
				t.Errorf("a %s socket that is in use, as %s: %q", network, other, got)
			}
		}
		os.Remove(path)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := try("unixgram:" + path); !strings.Contains(got, "is not a socket") {
		t.Errorf("a file: %q", got)
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Error("a file was overwritten")
	}
}

// stale leaves the file of a socket that is closed.
func stale(t *testing.T, network, path string) {
	t.Helper()
	if network == "unixgram" {
		c, err := net.ListenPacket(network, path)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		return
	}
	l, err := net.ListenUnix(network, &net.UnixAddr{Name: path, Net: network})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
}

func TestListenRefusesCSV(t *testing.T) {
	f, err := logline.ParseFormat("csv:time=t,addr=a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(ListenConfig{Live: Live{Format: f, Now: time.Now, Decide: (&heard{}).decide}, Address: "tcp:127.0.0.1:0"}); err == nil {
		t.Error("a delimited format is accepted")
	}
}

// TestListenApart holds that what one connection sent says nothing of another's
// lines: which columns they have, or that a line is the rest of one.
func TestListenApart(t *testing.T) {
	for _, test := range []struct {
		format             string
		begin, other, rest string // of one connection, of another, and of the first again
	}{
		{
			"w3c", "#Fields: date time c-ip cs-uri-stem s-ip\n2016-02-20 00:00:45 192.0.2.1 /0 9.9.9.9\n",
			"#Fields: date time s-ip cs-uri-stem c-ip\n2016-02-20 00:00:45 9.9.9.9 /1 192.0.2.1\n", "2016-02-20 00:00:45 192.0.2.1 /2 9.9.9.9\n",
		},
		{
			"docker:$remote_addr $msec $request_uri", `{"log":"192.0.2.1 1 /0\n","stream":"stdout"}` + "\n" + `{"log":"192.0.2.1 1 /x","stream":"stdout"}` + "\n",
			`{"log":"192.0.2.1 1 /1\n","stream":"stdout"}` + "\n", `{"log":"9.9.9.9 1 /3\n","stream":"stdout"}` + "\n" + `{"log":"192.0.2.1 1 /2\n","stream":"stdout"}` + "\n",
		},
	} {
		h := &heard{}
		forged := 0
		l := listen(t, h, ListenConfig{Live: Live{Format: format(test.format), Decide: func(now time.Time, events []edgeguard.Event) {
			for i := range events {
				if events[i].Addr.String() != "192.0.2.1" {
					forged++
				}
			}
			h.decide(now, slices.DeleteFunc(events, func(ev edgeguard.Event) bool { return ev.Path == "/x" }))
		}}, Address: "tcp:127.0.0.1:0"})
		a, b := dial(t, "tcp", l.Addr().String()), dial(t, "tcp", l.Addr().String())
		for i, step := range []struct {
			conn net.Conn
			text string
		}{{a, test.begin}, {b, test.other}, {a, test.rest}} {
			send(t, step.conn, step.text)
			program.Eventually(t, step.text, func() bool { once, _ := h.of(3); return once == i+1 })
		}
		l.stop()
		if forged > 0 {
			t.Errorf("%s: %d events of another's address", test.format, forged)
		}
	}
}

// It is said while no line has what rules ask for.
func TestListenLacksFields(t *testing.T) {
	path := socketPath(t)
	needs := edgeguard.FieldAgent | edgeguard.FieldPath
	l := listen(t, &heard{}, ListenConfig{Live: Live{Format: format("haproxy"), Decide: func(time.Time, []edgeguard.Event) {}, Needs: func() edgeguard.Field { return needs }}, Address: "unix:" + path})
	c := dial(t, "unix", path)
	line := func(captured string) string {
		return `203.0.113.7:5 [20/Feb/2016:00:00:45.000] f b/s 0/0/0/0/0 200 5 - - ---- 0/0/0/0/0 0/0 ` + captured + `"GET / HTTP/1.1"` + "\n"
	}
	send(t, c, strings.Repeat(line("{h|r|a} "), enoughEvents-1))
	program.Eventually(t, "the lines have come", func() bool { return l.Stats().Events == enoughEvents-1 })
	if err := l.Stats().Err; err != nil {
		t.Errorf("too early: %v", err)
	}
	send(t, c, line(""))
	program.Eventually(t, "it is said", func() bool {
		err := l.Stats().Err
		return err != nil && strings.Contains(err.Error(), "no line of it has agent,")
	})
	send(t, c, line("edgeguard{h||a} "))
	program.Eventually(t, "it has ended", func() bool { return l.Stats().Err == nil })
}
