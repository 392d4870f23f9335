package fleet

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"edgeguard/internal/redistest"
)

// program is the command under test, built once for those who ask.
var program = sync.OnceValues(func() (string, error) {
	var err error
	if programDir, err = os.MkdirTemp("", "fleet"); err != nil {
		return "", err
	}
	program := filepath.Join(programDir, "edgeguard")
	build := exec.Command("go", "build", "-o", program, "edgeguard/cmd/edgeguard")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", build.Args, err, out)
	}
	return program, nil
})

// programDir is where the command was built; it is removed at the end.
var programDir string

// process is a running edgeguard with a fleet.
type process struct {
	t      *testing.T
	folder string
	proxy  *redistest.Proxy
	said   *output
	admin  *http.Client
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// startProcess runs a node until the test ends, and returns when it answers.
// A limit of 40 in 5 minutes is the fleet's.
func startProcess(t *testing.T, name string, server *redistest.Server) *process {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "node") // t.TempDir is too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, folder: folder, proxy: redistest.NewProxy(t, server.Addr), said: new(output)}
	write(t, filepath.Join(folder, "config.yaml"), fmt.Sprintf(`
node: %[1]s
state: %[2]s/state
listen: {auth: ["unix:%[2]s/auth.sock"], admin: ["unix:%[2]s/admin.sock"]}
rules:
  - {name: site, threshold: 40, guard: 1, window: 5m, block_for: 1h}
fleet: {redis: "redis://%[3]s", namespace: test, max_nodes: 2}
`, name, folder, p.proxy.Addr))
	p.admin = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(folder, "admin.sock"))
	}}}
	command := exec.Command(path, "serve", "--config", filepath.Join(folder, "config.yaml"))
	command.Stdout, command.Stderr = p.said, p.said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: after SIGTERM: %v", name, err)
			}
		case <-time.After(patience):
			_ = command.Process.Kill()
			<-ended
			t.Errorf("%s does not end", name)
		}
		p.admin.CloseIdleConnections()
		if t.Failed() {
			said := p.said.String()
			t.Logf("%s said:\n%s", name, said[max(0, len(said)-3000):])
		}
		_ = os.RemoveAll(folder)
	})
	redistest.Eventually(t, name+" to be ready", func() bool { _, err := p.readyz(); return err == nil })
	return p
}

// readyz is what the node says of itself to a load balancer.
func (p *process) readyz() (string, error) {
	answer, err := p.admin.Get("http://node/readyz")
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", answer.StatusCode)
	}
	return string(text), err
}

// asker asks a node on one connection, as nginx does.
type asker struct {
	conn    net.Conn
	answers *bufio.Reader
	took    []time.Duration
}

func (p *process) asker() (*asker, error) {
	conn, err := net.Dial("unix", filepath.Join(p.folder, "auth.sock"))
	if err != nil {
		return nil, err
	}
	return &asker{conn: conn, answers: bufio.NewReader(conn)}, nil
}

// refused asks about a client once.
func (a *asker) refused(client string) (refused bool, err error) {
	begun := time.Now()
	if err := a.conn.SetDeadline(begun.Add(patience)); err != nil {
		return false, err
	}
	_, err = fmt.Fprintf(a.conn, "GET /auth/nginx HTTP/1.1\r\nHost: localhost\r\nX-Real-IP: %s\r\nX-Original-URI: /\r\nX-Original-Method: GET\r\n\r\n", client)
	if err != nil {
		return false, err
	}
	answer, err := http.ReadResponse(a.answers, nil)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return false, err
	}
	a.took = append(a.took, time.Since(begun))
	switch answer.StatusCode {
	case http.StatusForbidden:
		return true, nil
	case http.StatusOK, http.StatusNoContent:
		return false, nil
	}
	return false, fmt.Errorf("status %d", answer.StatusCode)
}

// degraded says whether the node calls itself so.
func (p *process) degraded() bool {
	text, err := p.readyz()
	return err == nil && strings.Contains(text, `"degraded":true`)
}
