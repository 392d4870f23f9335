package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/client"
)

// patience bounds every wait for something that must happen. Nothing is
// measured by it.
const patience = 60 * time.Second

// node is a running edgeguard, or one that ran: its folder stays between
// starts.
type node struct {
	t       *testing.T
	folder  string
	admin   *client.Client
	process *exec.Cmd // nil while none runs
	// What a process is given: how many files it may have open (0 for no limit
	// of its own), and as whom it runs (nil: as the test).
	files int
	as    *syscall.Credential
	ended chan error
	said  *output
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

// newNode writes a config, in which $DIR stands for the node's folder, and
// starts nothing. Whatever runs at the end of the test is killed.
func newNode(t *testing.T, yaml string) *node {
	t.Helper()
	folder, err := os.MkdirTemp("", "node") // t.TempDir is too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, folder: folder, said: new(output)}
	yaml = strings.ReplaceAll(yaml, "$DIR", folder)
	if err := os.WriteFile(n.path("config.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	if n.admin, err = client.New(client.Config{Address: "unix:" + n.path("admin.sock")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.kill()
		n.admin.Close()
		if t.Failed() {
			t.Logf("the end of what edgeguard said:\n%s", tail(n.said.String(), 4000))
		}
		_ = os.RemoveAll(folder)
	})
	return n
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func (n *node) path(name string) string { return filepath.Join(n.folder, name) }

// start runs the program and returns when it answers.
func (n *node) start() {
	n.t.Helper()
	n.launch()
	n.until("it is ready", func() bool {
		s, err := n.admin.Status(n.t.Context())
		return err == nil && s.Ready
	})
}

// launch runs the program and waits for nothing.
func (n *node) launch() {
	n.t.Helper()
	n.process = exec.Command(program, "serve", "--config", n.path("config.yaml"))
	if n.files > 0 {
		n.process = exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, n.files), program, "serve", "--config", n.path("config.yaml"))
	}
	n.process.SysProcAttr = &syscall.SysProcAttr{Credential: n.as}
	n.process.Stdout, n.process.Stderr = n.said, n.said
	if err := n.process.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.ended = make(chan error, 1)
	go func(p *exec.Cmd, ended chan<- error) { ended <- p.Wait() }(n.process, n.ended)
}

// stop has it end as an operator would, and wants no error of it.
func (n *node) stop() {
	n.t.Helper()
	if err := n.process.Process.Signal(syscall.SIGTERM); err != nil {
		n.t.Fatal(err)
	}
	select {
	case err := <-n.ended:
		n.process = nil
		if err != nil {
			n.t.Fatalf("after SIGTERM: %v", err)
		}
	case <-time.After(patience):
		n.t.Fatal("it does not end")
	}
}

// kill ends it with SIGKILL, if it runs.
func (n *node) kill() {
	if n.process == nil {
		return
	}
	_ = n.process.Process.Kill()
	<-n.ended
	n.process = nil
}

// lives fails the test if the process has ended by itself.
func (n *node) lives() {
	n.t.Helper()
	select {
	case err := <-n.ended:
		n.process = nil
		n.t.Fatalf("it ended by itself: %v", err)
	default:
	}
}

// until waits for what must come.
func (n *node) until(what string, holds func() bool) {
	n.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		n.lives()
		if time.Now().After(deadline) {
			n.t.Fatalf("never: %s", what)
		}
	}
}

func (n *node) status() admin.Stats {
	n.t.Helper()
	s, err := n.admin.Status(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

// blocks gives the standing blocks by prefix.
func (n *node) blocks() map[netip.Prefix]admin.Block {
	n.t.Helper()
	found := make(map[netip.Prefix]admin.Block)
	for b, err := range n.admin.Blocks(n.t.Context(), client.Filter{}) {
		if err != nil {
			n.t.Fatal(err)
		}
		found[b.Prefix] = b
	}
	return found
}

// count gives what the first rule counts of an address.
func (n *node) count(addr netip.Addr) int {
	n.t.Helper()
	e, err := n.admin.Explain(n.t.Context(), addr)
	if err != nil {
		n.t.Fatal(err)
	}
	return int(e.Rules[0].Count)
}

// dial connects to one of its sockets, once it listens there.
func (n *node) dial(network, address string) net.Conn {
	n.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		conn, err := new(net.Dialer).DialContext(n.t.Context(), network, address)
		if err == nil {
			n.t.Cleanup(func() { _ = conn.Close() })
			return conn
		}
		if errors.Is(err, context.Canceled) || time.Now().After(deadline) {
			n.t.Fatal(err)
		}
		n.lives()
	}
}

// freePort gives an address of loopback that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
