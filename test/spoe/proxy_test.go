package spoe

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard"
	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/haproxy"
	"edgeguard/internal/program"
	"edgeguard/internal/unixsocket"
	"edgeguard/sensor/inline"
	"edgeguard/sensor/spoe"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { program.Clean(); os.Exit(code) }))
}

// patience bounds every wait for something that must happen. Nothing is measured by it.
const patience = 60 * time.Second

// guard is an edgeguard that refuses an address after limit requests.
type guard struct {
	path   string // of its socket
	server *spoe.Server

	mu    sync.Mutex // guards what follows
	limit int
	seen  map[string]int
	asked []string
	hung  chan struct{} // while it is set, no request is answered before it is closed
}

func (g *guard) decide(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
	key := ""
	if e.Header != nil {
		key, _ = e.Header("x-api-key")
	}
	g.mu.Lock()
	who := e.Addr.String()
	g.seen[who]++
	g.asked = append(g.asked, fmt.Sprintf("%s %s %s %s agent=%s referer=%s site=%s key=%s", who, e.Method, e.Host, e.Path, e.Agent, e.Referer, e.FetchSite, key))
	over, hung := g.seen[who] > g.limit, g.hung
	g.mu.Unlock()
	if hung != nil {
		<-hung
	}
	if !over {
		return edgeguard.Verdict{}
	}
	return edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: "site", Reason: "over limit", RetryAfter: 42 * time.Second}
}

// last returns how many requests were asked about, and the last one.
func (g *guard) last() (int, string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.asked) == 0 {
		return 0, ""
	}
	return len(g.asked), g.asked[len(g.asked)-1]
}

// hang has requests wait until the function that it returns is called.
func (g *guard) hang() (wake func()) {
	hung := make(chan struct{})
	g.mu.Lock()
	g.hung = hung
	g.mu.Unlock()
	return sync.OnceFunc(func() {
		g.mu.Lock()
		g.hung = nil
		g.mu.Unlock()
		close(hung)
	})
}

// folder returns one whose path is short enough for a socket.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "eg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// startGuard serves at a socket that the processes of this user may open; stop ends it
// early.
func startGuard(t *testing.T, path string, limit int) (g *guard, stop func()) {
	t.Helper()
	return serve(t, "unix", path, haproxy.Door{User: strconv.Itoa(os.Geteuid())}, limit, func(kind, text string) { t.Errorf("alarm %s: %s", kind, text) })
}

// serve serves those whom a door admits.
func serve(t *testing.T, network, address string, door haproxy.Door, limit int, alarm func(kind, text string)) (g *guard, stop func()) {
	t.Helper()
	var l net.Listener
	var err error
	if network == "unix" {
		l, err = unixsocket.Listen(address, unixsocket.Access{Mode: 0o600})
	} else {
		l, err = net.Listen(network, address)
	}
	if err != nil {
		t.Fatal(err)
	}
	admit, err := door.Open(l)
	if err != nil {
		t.Fatal(err)
	}
	g = &guard{path: address, limit: limit, seen: map[string]int{}}
	g.server, err = spoe.New(inline.Config{Decide: g.decide, Alarm: alarm}, admit)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- g.server.Serve(l) }()
	stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := g.server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return g, stop
}

var deadline = regexp.MustCompile(` (5|100)ms\b`)

// patient has HAProxy wait for an edgeguard that a busy machine makes slow. As the
// snippet is, a request passes after 5 ms.
func patient(snippet string) string { return deadline.ReplaceAllString(snippet, " 50s") }

// asItIs leaves a snippet's deadlines as they are.
func asItIs(snippet string) string { return snippet }

// proxy is a running HAProxy.
type proxy struct {
	port    string
	socket  string // for HAProxy's commands
	process *exec.Cmd
}

// startProxy runs the snippet, with its deadlines or others. A request may name its
// client in X-Test-Client; what passes is answered with 204.
func startProxy(t *testing.T, v snippets.Values, deadlines func(string) string) *proxy {
	t.Helper()
	p := runProxy(t, v, deadlines)
	until(t, "HAProxy knows that edgeguard answers", func() bool { return p.serverIs("UP") })
	return p
}

// runProxy is startProxy, and waits until HAProxy listens.
func runProxy(t *testing.T, v snippets.Values, change func(string) string) *proxy {
	t.Helper()
	programHere, err := exec.LookPath(cmp.Or(os.Getenv("EDGEGUARD_HAPROXY"), "haproxy"))
	if err != nil {
		t.Skip("HAProxy is not installed: apt-get install haproxy")
	}
	dir := folder(t)
	port := strconv.Itoa(program.Port(t))
	v.Listen, v.SpoeFile = port, filepath.Join(dir, "spoe.conf")
	part := func(name string) string {
		text, err := snippets.Text("haproxy-spoe", name, v)
		if err != nil {
			t.Fatal(err)
		}
		return change(text)
	}
	text := "global\n    stats socket " + filepath.Join(dir, "admin.sock") + " level admin\ndefaults\n    mode http\n    timeout connect 5s\n    timeout client 60s\n    timeout server 60s\n" + part("proxy")
	for _, change := range [][2]string{
		{"    bind :" + port + "\n", "    bind 127.0.0.1:" + port + "\n    bind [::1]:" + port + " v6only\n    http-request set-src req.hdr(X-Test-Client) if { req.hdr(X-Test-Client) -m found }\n"},
		{"    default_backend servers\n", "    http-request set-header X-Error %[var(txn.eg.error)]\n    http-request return status 204 hdr X-Spoe-Error %[var(txn.eg.error)] hdr X-Rule %[var(txn.eg.rule)]\n    default_backend servers\n"},
	} {
		if !strings.Contains(text, change[0]) {
			t.Fatalf("the snippet has no %q", change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	file := filepath.Join(dir, "haproxy.cfg")
	for name, text := range map[string]string{file: text, v.SpoeFile: part("spoe")} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(programHere, "-c", "-f", file).CombinedOutput(); err != nil || bytes.Contains(out, []byte("WARNING")) {
		t.Fatalf("haproxy -c: %v: %s\n%s", err, out, text)
	}
	p := &proxy{port: port, socket: filepath.Join(dir, "admin.sock"), process: exec.Command(programHere, "-db", "-f", file)}
	var output bytes.Buffer
	p.process.Stdout, p.process.Stderr = &output, &output
	if err := p.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.process.Process.Kill()
		_ = p.process.Wait()
		if t.Failed() {
			t.Logf("HAProxy said:\n%s", &output)
		}
	})
	until(t, "HAProxy listens", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return p
}

// serverIs asks HAProxy for the state of its server edgeguard.
func (p *proxy) serverIs(state string) bool {
	c, err := net.Dial("unix", p.socket)
	if err != nil {
		return false
	}
	defer c.Close()
	if _, err := io.WriteString(c, "show stat\n"); err != nil {
		return false
	}
	out, err := io.ReadAll(c)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "edgeguard-spoe,edgeguard,") {
			return strings.Contains(line, ","+state+",") && (state != "UP" || strings.Contains(line, ",L7OK,"))
		}
	}
	return false
}

// until waits for something that must happen.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !happened(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not happen: %s", what)
		}
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request from a loopback address, on a connection of its own.
func ask(t *testing.T, p *proxy, from, method, path string, header ...string) answer {
	t.Helper()
	a, err := try(p, from, method, path, header...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func try(p *proxy, from, method, path string, header ...string) (answer, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	to := "127.0.0.1"
	if strings.Contains(from, ":") {
		to = "::1"
	}
	tr := &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	r, err := http.NewRequest(method, "http://"+net.JoinHostPort(to, p.port)+path, nil)
	if err != nil {
		return answer{}, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	resp, err := (&http.Client{Transport: tr, Timeout: patience}).Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body)}, err
}
