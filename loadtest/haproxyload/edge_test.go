//go:build linux

package haproxyload

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/admin/client"
	"edgeguard/config"
	"edgeguard/haproxy"
	"edgeguard/internal/program"
)

// patience bounds every wait for what must come. Nothing is measured by it.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	code := m.Run()
	program.Clean()
	os.Exit(code)
}

// edge is a HAProxy, and an edgeguard beside it.
type edge struct {
	*program.Process
	t       testing.TB
	admin   *client.Client
	program string // HAProxy's
	config  string // haproxy.cfg
	haproxy *exec.Cmd
	address string // of the frontend with all lines
	plain   string // of one without them
}

const global = `
global
  localpeer ha1
  stats socket %[1]s/stats.sock mode 600 level admin
defaults
  mode http
  timeout connect 60s
  timeout client 60s
  timeout server 60s
peers edgeguard
  bind unix@%[1]s/ha1.sock mode 600
  server ha1
  server edgeguard unix@%[1]s/haproxy.sock
  %[4]s
frontend all
  bind %[2]s
  http-request set-src hdr(X-Src)
  %[5]s
  http-request deny deny_status 429 if %[6]s
  http-request return status 204
frontend plain
  bind %[3]s
  http-request set-src hdr(X-Src)
  http-request return status 204
`

// node is edgeguard's config, with a place for the threshold.
const node = `
node: test
state: $DIR/state
max_blocks: 200000
listen: {auth: [], admin: ["unix:$DIR/admin.sock"]}
haproxy: {peers: [{listen: "unix:$DIR/haproxy.sock", user: "%d"}]}
rules:
  - {name: site, threshold: %d, guard: 1}
  - {name: login, threshold: %d, guard: 1, match: {method: POST, path: /login}}
`

// newPair is the installed HAProxy and a node with this config, neither of them started.
func newPair(t testing.TB, yaml string) *edge {
	t.Helper()
	programHere, err := exec.LookPath(cmp.Or(os.Getenv("EDGEGUARD_HAPROXY"), "haproxy"))
	if err != nil {
		if programHere, err = exec.LookPath("/usr/sbin/haproxy"); err != nil {
			t.Skip("HAProxy is not installed: scripts/need haproxy")
		}
	}
	e := &edge{t: t, program: programHere, Process: program.NewNode(t, yaml), address: program.Address(t), plain: program.Address(t)}
	if e.admin, err = client.New(client.Config{Address: "unix:" + e.Path("admin.sock")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.admin.Close() })
	return e
}

// newEdge writes both configs. Nothing runs before start.
func newEdge(t testing.TB, threshold int) *edge {
	t.Helper()
	yaml := fmt.Sprintf(node, os.Getuid(), threshold, threshold)
	e := newPair(t, yaml)
	c, err := config.Parse("config.yaml", []byte(strings.ReplaceAll(yaml, "$DIR", e.Folder)))
	if err != nil {
		t.Fatal(err)
	}
	counts := haproxy.ColumnsOf(c.Rules)
	indented := func(lines string) string { return strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n  ") }
	text := fmt.Sprintf(global, e.Folder, e.address, e.plain, indented(counts.Declaration()+"\n"+haproxy.BlockTableLines()),
		indented(counts.Frontend(haproxy.ConfigPlace{Peers: "edgeguard"})+"\n"+haproxy.BlockRuleLines("edgeguard")), haproxy.IfBlocked)
	e.config = filepath.Join(e.Folder, "haproxy.cfg")
	if err := os.WriteFile(e.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return e
}

// serve starts HAProxy, or a new process in place of the one that runs.
func (e *edge) serve() {
	e.t.Helper()
	args := []string{"-db", "-f", e.config}
	if e.haproxy != nil {
		args = append(args, "-sf", strconv.Itoa(e.haproxy.Process.Pid))
	}
	var said bytes.Buffer
	c := exec.Command(e.program, args...)
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		e.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	e.t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGKILL)
		<-ended
		if e.t.Failed() {
			e.t.Logf("the end of what HAProxy printed:\n%s", said.Bytes()[max(0, said.Len()-2000):])
		}
	})
	e.haproxy = c
	e.until("HAProxy listens", func() bool {
		c, err := net.Dial("tcp", e.address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// start runs edgeguard and then HAProxy, which waits 5 s before it dials again, and
// returns when they are connected.
func (e *edge) start() {
	e.t.Helper()
	e.launch()
	e.serve()
	e.until("edgeguard knows HAProxy's tables", e.learned)
}

func (e *edge) launch() {
	e.t.Helper()
	e.Launch()
	e.until("edgeguard answers", func() bool {
		_, err := e.admin.Status(e.t.Context())
		return err == nil
	})
}

func (e *edge) learned() bool {
	s, err := e.admin.Status(e.t.Context())
	if err != nil || len(s.HAProxies) != 1 || len(s.HAProxies[0].HAProxies) != 1 {
		return false
	}
	one := s.HAProxies[0].HAProxies[0]
	if len(one.Wrong) > 0 {
		e.t.Fatalf("edgeguard does not use HAProxy's tables: %v", one.Wrong)
	}
	return one.Learned && one.PID == e.haproxy.Process.Pid
}

// counted returns how many requests edgeguard has counted.
func (e *edge) counted() uint64 {
	s, err := e.admin.Status(e.t.Context())
	if err != nil || len(s.HAProxies) != 1 {
		e.t.Fatal("edgeguard shows no HAProxy: ", err)
	}
	return s.HAProxies[0].Counted
}

func (e *edge) until(what string, ok func() bool) {
	e.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			e.t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// entries returns how many entries HAProxy's tables of blocks have.
func (e *edge) entries() (n int) {
	e.t.Helper()
	c, err := net.Dial("unix", filepath.Join(e.Folder, "stats.sock"))
	if err != nil {
		e.t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("show table\n")); err != nil {
		e.t.Fatal(err)
	}
	for lines := bufio.NewScanner(c); lines.Scan(); {
		_, used, found := strings.Cut(lines.Text(), "used:")
		if found && strings.Contains(lines.Text(), "/blocks_") {
			one, _ := strconv.Atoi(used)
			n += one
		}
	}
	return n
}

// processor returns the processor time that a process has used.
func processor(t testing.TB, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	user, _ := strconv.Atoi(string(fields[11]))
	system, _ := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * (time.Second / 100) // USER_HZ is 100 wherever Go runs
}
