package haproxypeers_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"edgeguard/haproxy"
	"edgeguard/haproxy/peers"
	"edgeguard/internal/unixsocket"
	"edgeguard/sensor/haproxypeers"
)

// patience bounds every wait for something that must happen. HAProxy itself waits up to
// 5 s in places.
const patience = 30 * time.Second

// TestMain is a program, too: run as another user, it connects to a socket, says text if
// it can, and prints what came of it.
func TestMain(m *testing.M) {
	if path := os.Getenv("EDGEGUARD_CONNECT"); path != "" {
		fmt.Print(connect(path, os.Getenv("EDGEGUARD_SAY")))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func connect(path, text string) string {
	c, err := net.Dial("unix", path)
	if err != nil {
		if errors.Is(err, syscall.EACCES) {
			return "no permission"
		}
		return err.Error()
	}
	if _, err := c.Write([]byte(text)); err != nil {
		return "connected, then: " + err.Error()
	}
	b := make([]byte, 100)
	n, err := c.Read(b)
	return fmt.Sprintf("answered %q, %v", b[:n], err)
}

// The users of the programs, if root runs the test.
const (
	haproxyUser = 41002
	stranger    = 41001
)

// edge is a running HAProxy, and a server to which it connects.
type edge struct {
	t        *testing.T
	folder   string
	user     int
	haproxy  *exec.Cmd
	http     *http.Client
	server   *haproxypeers.Server
	stop     func() // the server, and waits for its end
	follower *blocked

	mu       sync.Mutex // guards what is below
	happened []string
}

const conf = `
global
  localpeer ha1
  nbthread 1
  %[3]s
defaults
  mode http
  timeout connect 60s
  timeout client 60s
  timeout server 60s
peers edgeguard
  bind unix@%[1]s/ha/peers.sock uid %[2]d mode 600
  server ha1
  server edgeguard unix@%[1]s/eg/haproxy.sock
  table counts_0123 type ipv6 size 1k expire 10m store gpc(2)
  table blocks type ipv6 size 1k expire 5m store gpt0
frontend f
  bind unix@%[1]s/ha/http.sock mode 666
  http-request set-src hdr(x-src)
  http-request track-sc0 src,ipmask(32,64) table edgeguard/counts_0123
  http-request sc-inc-gpc(0,0)
  http-request deny deny_status 429 if { src,ipmask(32,64),table_gpt0(edgeguard/blocks) eq 1 }
  http-request return status 200
`

// newEdge starts HAProxy, which has no server to connect to yet.
func newEdge(t *testing.T) *edge {
	t.Helper()
	folder, err := os.MkdirTemp("", "link") // other users can pass through it, and its path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	e := &edge{t: t, folder: folder, user: os.Geteuid(), follower: newBlocked()}
	drop := ""
	if e.user == 0 {
		e.user = haproxyUser
		drop = fmt.Sprintf("uid %d\n  gid %[1]d", haproxyUser)
	}
	for _, name := range []string{"", "ha", "eg"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(e.path("cfg"), fmt.Appendf(nil, conf, folder, e.user, drop), 0o644); err != nil {
		t.Fatal(err)
	}
	e.startHAProxy()
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", e.path("ha/http.sock"))
		},
	}
	e.http = &http.Client{Transport: transport, Timeout: patience}
	return e
}

func (e *edge) path(name string) string { return filepath.Join(e.folder, name) }

// startHAProxy runs $EDGEGUARD_HAPROXY, or the one that is installed.
func (e *edge) startHAProxy(args ...string) {
	e.t.Helper()
	program, err := exec.LookPath(cmp.Or(os.Getenv("EDGEGUARD_HAPROXY"), "haproxy"))
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/haproxy")
	}
	if err != nil {
		e.t.Skip("haproxy is not installed: apt-get install haproxy")
	}
	var said bytes.Buffer
	e.haproxy = exec.Command(program, append([]string{"-db", "-f", e.path("cfg")}, args...)...)
	e.haproxy.Stdout, e.haproxy.Stderr = &said, &said
	if err := e.haproxy.Start(); err != nil {
		e.t.Fatal(err)
	}
	c := e.haproxy
	e.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if e.t.Failed() {
			e.t.Logf("haproxy printed:\n%s", &said)
		}
	})
}

// serve starts the server. It may be called again after stop.
func (e *edge) serve(c haproxypeers.Config) {
	e.t.Helper()
	l, err := unixsocket.Listen(e.path("eg/haproxy.sock"), unixsocket.Access{Mode: 0o600})
	if err != nil {
		e.t.Fatal(err)
	}
	enter, err := haproxy.Door{User: strconv.Itoa(e.user)}.Open(l)
	if err != nil && strings.Contains(err.Error(), "has no access lists") {
		e.t.Skip(err)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	c.Now, c.Cut = time.Now, new(sync.Mutex)
	if c.Tally == nil {
		c.Tally = peers.NewTally(1000)
	}
	c.Log = func(text string, args ...any) { e.t.Log(append([]any{text}, args...)...) }
	c.Happened = func(text string) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.happened = append(e.happened, text)
	}
	if c.Follow == nil {
		c.Follow = func(string) haproxypeers.Follower { return e.follower }
	}
	e.server = haproxypeers.New(c)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.server.Serve(ctx, l, enter) }()
	e.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			e.t.Errorf("serve: %v", err)
		}
	})
	e.t.Cleanup(e.stop)
}

// counting is the settings of a server for the tables of conf.
func counting() haproxypeers.Config {
	return haproxypeers.Config{
		Table: "counts_0123", Columns: 2,
		Alike: func(name string) bool { return strings.HasPrefix(name, "counts_") },
		Blocks: []peers.Definition{{
			ID: 1, Name: "/blocks", Key: peers.IPv6, KeyBytes: 16, Stored: []peers.Stored{{Type: peers.GPT0, Elements: 1}}, Expire: 5 * time.Minute,
		}},
	}
}

// until waits for the one HAProxy to be in a state.
func (e *edge) until(what string, ok func(h haproxy.LinkFigures) bool) {
	e.t.Helper()
	e.wait(what, func() bool {
		s := e.server.Stats()
		return len(s.HAProxies) == 1 && ok(s.HAProxies[0])
	})
}

func (e *edge) wait(what string, ok func() bool) {
	e.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			e.t.Fatalf("%s: not within %v; %+v", what, patience, e.server.Stats())
		}
	}
}

func learned(h haproxy.LinkFigures) bool { return h.Learned }

// status asks HAProxy as a client with an address.
func (e *edge) status(from string) int {
	e.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://haproxy/", nil)
	if err != nil {
		e.t.Fatal(err)
	}
	req.Header.Set("X-Src", from)
	answer, err := e.http.Do(req)
	if err != nil {
		e.t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// blocked is a follower: the set of addresses that are blocked.
type blocked struct {
	due chan struct{}

	mu   sync.Mutex // guards what is below
	all  map[netip.Addr]uint32
	next []netip.Addr
	held []netip.Addr
}

func newBlocked() *blocked {
	return &blocked{due: make(chan struct{}, 1), all: map[netip.Addr]uint32{}}
}

func (b *blocked) set(value uint32, addr string) {
	a := netip.MustParseAddr(addr)
	b.mu.Lock()
	b.all[a], b.next = value, append(b.next, a)
	b.mu.Unlock()
	select {
	case b.due <- struct{}{}:
	default:
	}
}

func (b *blocked) Due() <-chan struct{} { return b.due }

func (b *blocked) Take(_ time.Time, into []peers.Taught) ([]peers.Taught, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	into = into[:0]
	for _, a := range b.next {
		into = append(into, peers.Taught{Entry: peers.Entry{Key: a, Value: b.all[a], TTL: time.Minute}})
	}
	b.next = nil
	return into, time.Time{}
}

func (b *blocked) Holds(_ time.Time, _ int, key netip.Addr, value uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if value != 0 {
		b.held = append(b.held, key)
	}
}

func (b *blocked) Again() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for a := range b.all {
		b.next = append(b.next, a)
	}
}

func (b *blocked) Leave() {}

// HAProxy connects, its tables are the right ones, and what is blocked is refused for as
// long as it is: IPv4, IPv6, and no neighbour.
func TestHAProxyIsTaught(t *testing.T) {
	e := newEdge(t)
	e.follower.set(1, "192.0.2.1")
	e.serve(counting())
	e.until("the tables", learned)
	if s := e.server.Stats(); len(s.HAProxies[0].Wrong) > 0 || s.HAProxies[0].Name != "ha1" || s.HAProxies[0].PID == 0 {
		t.Errorf("%+v", s)
	}
	e.wait("the block from before", func() bool { return e.status("192.0.2.1") == http.StatusTooManyRequests })
	e.follower.set(1, "2001:db8:1:2::")
	e.wait("the block of a /64", func() bool { return e.status("2001:db8:1:2:3::4") == http.StatusTooManyRequests })
	for _, other := range []string{"192.0.2.2", "2001:db8:1:3::1"} {
		if got := e.status(other); got != http.StatusOK {
			t.Errorf("%s: %d", other, got)
		}
	}
	e.follower.set(0, "192.0.2.1")
	e.wait("the end of the block", func() bool { return e.status("192.0.2.1") == http.StatusOK })
}

// After a restart of edgeguard, HAProxy connects again and says what it holds; killed and
// started again, it asks for everything and is taught it.
func TestRestarts(t *testing.T) {
	e := newEdge(t)
	e.follower.set(1, "192.0.2.1")
	e.serve(counting())
	e.until("the tables", learned)
	e.wait("the block", func() bool { return e.status("192.0.2.1") == http.StatusTooManyRequests })

	e.stop()
	if got := e.status("192.0.2.1"); got != http.StatusTooManyRequests {
		t.Errorf("without edgeguard: %d", got)
	}
	e.follower = newBlocked()
	e.serve(counting())
	e.until("the tables after a restart of edgeguard", learned)
	e.follower.mu.Lock()
	held := slices.Contains(e.follower.held, netip.MustParseAddr("192.0.2.1"))
	e.follower.mu.Unlock()
	if !held {
		t.Error("HAProxy does not say what it holds")
	}

	e.follower.set(1, "192.0.2.9")
	pid := e.server.Stats().HAProxies[0].PID
	_ = e.haproxy.Process.Kill()
	_ = e.haproxy.Wait()
	e.wait("the end of the connection", func() bool { return len(e.server.Stats().HAProxies) == 0 })
	e.startHAProxy()
	e.until("the tables of another HAProxy", func(h haproxy.LinkFigures) bool { return h.Learned && h.PID != pid })
	e.wait("the block after a restart of HAProxy", func() bool { return e.status("192.0.2.9") == http.StatusTooManyRequests })
}

// Tables of other rules, with other columns, or not there, are named, and nothing else
// breaks: the blocks are in force.
func TestOtherTables(t *testing.T) {
	for what, change := range map[string]func(*haproxypeers.Config){
		"it counts by other rules":    func(c *haproxypeers.Config) { c.Table = "counts_4567" },
		"there is no table counts_45": func(c *haproxypeers.Config) { c.Table = "counts_4567" },
		"it stores 2 counters":        func(c *haproxypeers.Config) { c.Columns = 3 },
		"there is no table more": func(c *haproxypeers.Config) {
			more := c.Blocks[0]
			more.ID, more.Name = 2, "/more"
			c.Blocks = append(c.Blocks, more)
		},
	} {
		t.Run(what, func(t *testing.T) {
			e := newEdge(t)
			c := counting()
			change(&c)
			e.follower.set(1, "192.0.2.1")
			e.serve(c)
			e.until(what, func(h haproxy.LinkFigures) bool { return strings.Contains(strings.Join(h.Wrong, "; "), what) })
			e.wait("the block", func() bool { return e.status("192.0.2.1") == http.StatusTooManyRequests })
		})
	}
}

// connectAs returns what a program of another user reads at a socket.
func (e *edge) connectAs(uid uint32, socket, text string) string {
	e.t.Helper()
	program := e.path("connect")
	if _, err := os.Stat(program); err != nil {
		own, err := os.ReadFile(os.Args[0]) // its folder is closed to other users
		if err != nil {
			e.t.Fatal(err)
		}
		if err := os.WriteFile(program, own, 0o755); err != nil {
			e.t.Fatal(err)
		}
	}
	c := exec.Command(program)
	c.Env, c.Dir = []string{"EDGEGUARD_CONNECT=" + e.path(socket), "EDGEGUARD_SAY=" + text}, "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := c.CombinedOutput()
	if err != nil {
		e.t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// Another user of the host can neither read the tables nor teach, displace or silence one
// of the two: he reaches neither socket.
func TestStranger(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run programs as other users")
	}
	e := newEdge(t)
	e.follower.set(1, "192.0.2.1")
	e.serve(counting())
	e.until("the tables", learned)
	const toEdgeguard, toHAProxy = "HAProxyS 2.1\nedgeguard\nha1 1 1\n", "HAProxyS 2.1\nha1\nedgeguard 1 1\n"
	if got := e.connectAs(haproxyUser, "eg/haproxy.sock", "HAProxyS 2.1\nedgeguard\nother 1 1\n"); !strings.HasPrefix(got, `answered "200\n`) {
		t.Fatalf("HAProxy's own user: %s", got)
	}
	since := e.server.Stats().HAProxies[0].Since
	for range 20 {
		for socket, text := range map[string]string{"eg/haproxy.sock": toEdgeguard, "ha/peers.sock": toHAProxy} {
			if got := e.connectAs(stranger, socket, text); got != "no permission" {
				t.Errorf("%s: %s", socket, got)
			}
		}
	}
	e.wait("the other's end", func() bool { return len(e.server.Stats().HAProxies) == 1 })
	if s := e.server.Stats(); !s.HAProxies[0].Since.Equal(since) {
		t.Errorf("displaced: %+v", s)
	}
	if got := e.status("192.0.2.1"); got != http.StatusTooManyRequests {
		t.Errorf("the block: %d", got)
	}
}
