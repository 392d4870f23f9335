//go:build linux

package haproxypeers

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/admin/client"
	"edgeguard/config"
	"edgeguard/haproxy"
	"edgeguard/internal/program"
)

// patience bounds every wait for something that must happen. Nothing is measured by it.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	code := m.Run()
	program.Clean()
	os.Exit(code)
}

// edge is a HAProxy and an edgeguard that counts from it.
type edge struct {
	*program.Process
	t       *testing.T
	admin   *client.Client
	haproxy *exec.Cmd // its master process
	address string    // of the frontend
}

// conf is haproxy.cfg, with places for the folder, the frontend's address, and the lines
// of the columns.
const conf = `
global
  localpeer ha1
  nbthread 2
  stats socket %[1]s/stats.sock
defaults
  mode http
  timeout connect 60s
  timeout client 60s
  timeout server 60s
peers edgeguard
  bind unix@%[1]s/ha1.sock mode 600
  server ha1
  server edgeguard unix@%[1]s/haproxy.sock
  %[3]s
frontend f
  bind %[2]s
  http-request set-src hdr(X-Src)
  %[4]s
  http-request return status 204
`

// rules are those of a node whose counts are never too high for a slot, and stay. What comes
// late is too old for the third.
const rules = `
node: test
state: $DIR/state
listen: {auth: [], admin: ["unix:$DIR/admin.sock"]}
haproxy: {peers: {listen: "unix:$DIR/haproxy.sock", user: "%d", enforce: false}}
rules:
  - {name: all, threshold: 60000, guard: 1, window: 1h}
  - {name: attack, threshold: 60000, guard: 1, window: 1h, match: {path: /attack}}
  - {name: minute, threshold: 1000, guard: 1, window: 1m}
`

// newEdge starts HAProxy and edgeguard.
func newEdge(t *testing.T) *edge {
	t.Helper()
	programHere, err := exec.LookPath(cmp.Or(os.Getenv("EDGEGUARD_HAPROXY"), "haproxy"))
	if err != nil {
		if programHere, err = exec.LookPath("/usr/sbin/haproxy"); err != nil {
			t.Skip("haproxy is not installed: scripts/need haproxy")
		}
	}
	yaml := fmt.Sprintf(rules, os.Getuid())
	e := &edge{t: t, Process: program.NewNode(t, yaml), address: program.Address(t)}
	if e.admin, err = client.New(client.Config{Address: "unix:" + e.Path("admin.sock")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.admin.Close() })
	c, err := config.Parse("config.yaml", []byte(strings.ReplaceAll(yaml, "$DIR", e.Folder)))
	if err != nil {
		t.Fatal(err)
	}
	cols := haproxy.ColumnsOf(c.Rules)
	indented := func(lines string) string { return strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n  ") }
	text := fmt.Sprintf(conf, e.Folder, e.address, indented(cols.Declaration()), indented(cols.Frontend(haproxy.ConfigPlace{Peers: "edgeguard"})))
	file := filepath.Join(e.Folder, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	e.haproxy = exec.Command(programHere, "-W", "-db", "-f", file)
	e.haproxy.Stdout, e.haproxy.Stderr = &said, &said
	e.haproxy.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := e.haproxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-e.haproxy.Process.Pid, syscall.SIGKILL)
		_ = e.haproxy.Wait()
		if t.Failed() {
			t.Logf("the end of what HAProxy printed:\n%s", said.Bytes()[max(0, said.Len()-4000):])
		}
	})
	e.start()
	return e
}

// start runs edgeguard, and returns when HAProxy has connected to it and what it had
// counted is known.
func (e *edge) start() {
	e.t.Helper()
	e.Launch()
	e.until("HAProxy has connected", func() bool {
		s, err := e.admin.Status(e.t.Context())
		return err == nil && len(s.HAProxies) == 1 && len(s.HAProxies[0].HAProxies) == 1 && s.HAProxies[0].HAProxies[0].Learned
	})
}

// reload has HAProxy read its config again, as systemd does.
func (e *edge) reload() {
	e.t.Helper()
	if err := e.haproxy.Process.Signal(syscall.SIGUSR2); err != nil {
		e.t.Fatal(err)
	}
}

// until waits for what must come.
func (e *edge) until(what string, holds func() bool) {
	e.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			e.t.Fatalf("never: %s", what)
		}
	}
}

// counted is how much edgeguard counts of an address by a rule.
func (e *edge) counted(addr netip.Addr, rule int) uint64 {
	e.t.Helper()
	x, err := e.admin.Explain(e.t.Context(), addr)
	if err != nil {
		e.t.Fatal(err)
	}
	return uint64(x.Rules[rule].Count)
}

// dial connects to the frontend. HAProxy's listener is there also while it reloads.
func (e *edge) dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", e.address)
}
