package httpauth

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard"
	"edgeguard/internal/program"
	"edgeguard/sensor/httpauth"
	"edgeguard/sensor/inline"
	"edgeguard/sensor/refusal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// guard is an edgeguard that refuses an address after limit requests.
type guard struct {
	auth   string // as a snippet writes it
	server *httpauth.Server

	mu    sync.Mutex // guards what follows
	limit int
	seen  map[string]int
	paths []string
}

func (g *guard) decide(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	who := e.Addr.String()
	g.seen[who]++
	what := e.Method + " " + e.Host + strings.Clone(e.Path)
	if e.Known&edgeguard.FieldFetchSite != 0 {
		what += " " + strings.Clone(e.FetchSite)
	}
	g.paths = append(g.paths, what)
	if g.seen[who] <= g.limit {
		return edgeguard.Verdict{}
	}
	return edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: "site", Reason: "over limit", RetryAfter: 42 * time.Second}
}

func (g *guard) counted() (int, []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.paths), append([]string(nil), g.paths...)
}

func (g *guard) setLimit(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = n
}

// startGuard listens on "tcp" or "unix" and serves; stop ends it early.
func startGuard(t *testing.T, network string, limit int) (g *guard, stop func()) {
	t.Helper()
	g = &guard{limit: limit, seen: map[string]int{}}
	l := listen(t, network)
	g.auth = l.Addr().String()
	if network == "unix" {
		g.auth = "unix:" + g.auth
	}
	s, err := httpauth.New(inline.Config{Decide: g.decide, Policy: func(string) (refusal.Policy, bool) {
		return refusal.Policy{Quota: uint32(limit), Window: 5 * time.Minute}, true
	}})
	if err != nil {
		t.Fatal(err)
	}
	g.server = s
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return g, stop
}

func listen(t *testing.T, network string) net.Listener {
	t.Helper()
	address := program.Address(t) // nobody else's after it is closed
	if network == "unix" {
		dir, err := os.MkdirTemp("", "eg") // t.TempDir is too long a path for a socket, and the worker's user may not enter it
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		address = filepath.Join(dir, "auth.sock")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	if network == "unix" {
		if err := os.Chmod(address, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// startBackend is the site behind the proxy.
func startBackend(t *testing.T) string {
	t.Helper()
	l := listen(t, "tcp")
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "backend "+r.URL.Path)
	})}
	done := make(chan struct{})
	go func() { _ = s.Serve(l); close(done) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return l.Addr().String()
}

// startHung accepts and never answers, as a stopped process does.
func startHung(t *testing.T) string {
	t.Helper()
	l := listen(t, "tcp")
	var mu sync.Mutex // guards conns
	var conns []net.Conn
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		for _, c := range conns {
			c.Close()
		}
	})
	return l.Addr().String()
}

// patience bounds every wait for something that must happen. Nothing is measured
// by it.
const patience = 60 * time.Second

var deadline = regexp.MustCompile(` (50|100)ms\b`)

// patient has a proxy wait for an edgeguard that a busy machine makes slow. As the
// snippets are, a request passes after 100 ms.
func patient(snippet string) string {
	return deadline.ReplaceAllString(snippet, " 60s")
}

// asItIs leaves a snippet's deadlines as they are.
func asItIs(snippet string) string { return snippet }

// need skips the test where a program is not installed.
func need(t *testing.T, programHere, debianPackage string) {
	t.Helper()
	if _, err := exec.LookPath(programHere); err != nil {
		t.Skipf("%s is not installed: apt-get install %s", programHere, debianPackage)
	}
}

// run starts a proxy and waits until it listens on the port.
func run(t *testing.T, port string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &output, &output, append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", name, &output)
		}
	})
	deadline := time.Now().Add(patience)
	for {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen: %v", name, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

// get asks the proxy from a loopback address of its own, so that clients
// differ.
func get(t *testing.T, port, from, method, path string, header ...string) answer {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	tr := &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	r, err := http.NewRequest(method, "http://127.0.0.1:"+port+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{Transport: tr, Timeout: patience}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}
