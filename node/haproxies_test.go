//go:build linux

package node

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/config"
	"edgeguard/haproxy"
)

const withHAProxy = `
node: test
listen: {auth: [], admin: ["unix:$DIR/admin.sock"]}
state: $DIR/state
haproxy: {peers: {listen: "unix:$DIR/haproxy.sock", user: "$UID"}}
rules:
  - {name: site, threshold: 20, guard: 1}
  - {name: login, match: {method: POST, path: /login}, threshold: 5, guard: 1}
`

// ownHaproxy is a running HAProxy with the lines that the rules become. Its clients say in
// a header which address they have.
type ownHaproxy struct {
	u       *underTest
	folder  string
	process *exec.Cmd
	http    *http.Client
}

// yamlWithHAProxy returns the config, for HAProxies of the user that runs the test.
func yamlWithHAProxy() string {
	return strings.ReplaceAll(withHAProxy, "$UID", fmt.Sprint(os.Geteuid()))
}

// write writes haproxy.cfg for the rules of a config.
func (h *ownHaproxy) write(t *testing.T, yaml string) {
	t.Helper()
	c, err := config.Parse("test", []byte(strings.ReplaceAll(yaml, "$DIR", h.folder)))
	if err != nil {
		t.Fatal(err)
	}
	cols := haproxy.ColumnsOf(c.Rules)
	lines := func(text string) string {
		return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ")
	}
	text := fmt.Sprintf(`global
  localpeer ha1
  nbthread 1
defaults
  mode http
  timeout connect 60s
  timeout client 60s
  timeout server 60s
peers eg
  bind unix@%[1]s/peers.sock mode 600
  server ha1
  server edgeguard unix@%[1]s/haproxy.sock
%[2]s
%[3]s
frontend f
  bind unix@%[1]s/http.sock
  http-request set-src hdr(x-src)
%[4]s
%[5]s
  http-request deny deny_status 429 if %[6]s
  http-request return status 200
`, h.folder, lines(cols.Declaration()), lines(haproxy.BlockTableLines()), lines(cols.Frontend(haproxy.ConfigPlace{Peers: "eg", Slot: 0})), lines(haproxy.BlockRuleLines("eg")), haproxy.IfBlocked)
	if err := os.WriteFile(filepath.Join(h.folder, "haproxy.cfg"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start runs HAProxy until the test ends.
func (h *ownHaproxy) start(t *testing.T, args ...string) {
	t.Helper()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/haproxy")
	}
	if err != nil {
		t.Skip("haproxy is not installed: apt-get install haproxy")
	}
	var said bytes.Buffer
	c := exec.Command(program, append([]string{"-db", "-f", filepath.Join(h.folder, "haproxy.cfg")}, args...)...)
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("haproxy printed:\n%s", &said)
		}
	})
	h.process = c
}

// newHAProxy starts a node and a HAProxy that has connected to it.
func newHAProxy(t *testing.T, folder string) *ownHaproxy {
	t.Helper()
	h := &ownHaproxy{folder: folder, u: newNode(t, folder, yamlWithHAProxy()).start()}
	h.http = &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(folder, "http.sock"))
		},
	}}
	h.write(t, yamlWithHAProxy())
	h.start(t)
	h.connected("HAProxy connects", func(c haproxy.LinkFigures) bool { return true })
	return h
}

// connected waits for the one HAProxy to be in a state, with the tables of the rules.
func (h *ownHaproxy) connected(what string, ok func(haproxy.LinkFigures) bool) {
	h.u.t.Helper()
	h.u.eventually(what, func() bool {
		all := h.u.view().Stats().HAProxies
		return len(all) == 1 && len(all[0].HAProxies) == 1 && all[0].HAProxies[0].Learned && len(all[0].HAProxies[0].Wrong) == 0 && ok(all[0].HAProxies[0])
	})
}

// ask asks HAProxy as a client with an address.
func (h *ownHaproxy) ask(from, method, path string) int {
	h.u.t.Helper()
	req, err := http.NewRequest(method, "http://haproxy"+path, nil)
	if err != nil {
		h.u.t.Fatal(err)
	}
	req.Header.Set("X-Src", from)
	answer, err := h.http.Do(req)
	if err != nil {
		h.u.t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// times asks so often, and wants all answered.
func (h *ownHaproxy) times(n int, from, method, path string) {
	h.u.t.Helper()
	for range n {
		if got := h.ask(from, method, path); got != http.StatusOK {
			h.u.t.Fatalf("%s %s from %s: %d", method, path, from, got)
		}
	}
}

// refused waits until HAProxy refuses an address, and wants another one answered.
func (h *ownHaproxy) refused(from, neighbour string) {
	h.u.t.Helper()
	h.u.eventually(from+" is refused", func() bool { return h.ask(from, http.MethodGet, "/") == http.StatusTooManyRequests })
	if got := h.ask(neighbour, http.MethodGet, "/"); got != http.StatusOK {
		h.u.t.Errorf("%s: %d", neighbour, got)
	}
}

// counted waits for a count of the first rule.
func (h *ownHaproxy) counted(addr string, want int) {
	h.u.t.Helper()
	h.u.eventually(fmt.Sprintf("%s has %d requests", addr, want), func() bool { return h.u.count(addr) == want })
}

// What HAProxy counts crosses the limits of the rules, by one request more than they
// allow, and HAProxy refuses who crossed one: IPv4, IPv6, and by a rule of its own.
func TestHAProxyCountsAndRefuses(t *testing.T) {
	h := newHAProxy(t, shortDir(t))
	for from, neighbour := range map[string]string{"203.0.113.9": "203.0.113.8", "2001:db8:1:2::7": "2001:db8:1:3::7"} {
		h.times(20, from, http.MethodGet, "/")
		h.counted(from, 20)
		if h.u.blocked(from) {
			t.Errorf("%s is blocked at its limit", from)
		}
		h.times(1, from, http.MethodGet, "/")
		h.refused(from, neighbour)
	}
	h.times(5, "203.0.113.20", http.MethodPost, "/login")
	h.times(1, "203.0.113.20", http.MethodPost, "/login?x=1")
	h.refused("203.0.113.20", "203.0.113.21")
	if why := h.u.view().Explain(h.u.clock.Now(), netip.MustParseAddr("203.0.113.20")); why.Block == nil || why.Block.Rule != "login" {
		t.Errorf("%+v", why)
	}
}

// Either side may end and come back: HAProxy killed, HAProxy stopped for a while, the
// node restarted. Counts go on where they were, and blocks are in
// force. What a killed HAProxy had counted of an address is counted once.
func TestHAProxyRestarts(t *testing.T) {
	t.Parallel()
	folder := shortDir(t)
	h := newHAProxy(t, folder)
	h.times(12, "203.0.113.9", http.MethodGet, "/")
	h.counted("203.0.113.9", 12)
	h.times(21, "203.0.113.66", http.MethodGet, "/")
	h.refused("203.0.113.66", "203.0.113.67")

	first := h.process.Process.Pid
	_ = h.process.Process.Kill()
	_ = h.process.Wait()
	h.start(t)
	h.connected("HAProxy comes back", func(c haproxy.LinkFigures) bool { return c.PID != first })
	h.refused("203.0.113.66", "203.0.113.68")
	h.times(3, "203.0.113.30", http.MethodGet, "/")
	h.counted("203.0.113.30", 3)

	_ = h.process.Process.Signal(syscall.SIGSTOP)
	h.u.eventually("a HAProxy that stands still is given up", func() bool { return len(h.u.view().Stats().HAProxies[0].HAProxies) == 0 })
	_ = h.process.Process.Signal(syscall.SIGCONT)
	h.connected("it connects again", func(haproxy.LinkFigures) bool { return true })
	h.times(1, "203.0.113.30", http.MethodGet, "/")
	h.counted("203.0.113.30", 4)

	h.u.stop()
	h.times(2, "203.0.113.30", http.MethodGet, "/") // while no node runs
	if got := h.ask("203.0.113.66", http.MethodGet, "/"); got != http.StatusTooManyRequests {
		t.Errorf("without a node: %d", got)
	}
	h.u = newNode(t, folder, yamlWithHAProxy()).start()
	h.connected("HAProxy connects to the next node", func(haproxy.LinkFigures) bool { return true })
	h.counted("203.0.113.30", 6)
	h.counted("203.0.113.9", 12)
	h.refused("203.0.113.66", "203.0.113.69")
}

// After a change of rules on one side, nothing of the other's table is counted, which is
// an alarm with the fix; the node and the blocks go on. It ends when both agree.
func TestHAProxyWithOtherRules(t *testing.T) {
	t.Parallel()
	h := newHAProxy(t, shortDir(t))
	h.times(21, "203.0.113.66", http.MethodGet, "/")
	h.refused("203.0.113.66", "203.0.113.67")
	swapped := strings.Replace(yamlWithHAProxy(), "path: /login", "path: /other", 1)
	h.u.yaml = swapped
	if err := h.u.Reload(); err != nil {
		t.Fatal(err)
	}
	h.u.eventually("the alarm", func() bool {
		text := h.u.log.String()
		return strings.Contains(text, "it counts by other rules than those of this node") && strings.Contains(text, "edgeguard snippets haproxy-peers")
	})
	h.times(30, "203.0.113.10", http.MethodGet, "/")
	h.times(30, "203.0.113.10", http.MethodPost, "/login")
	h.refused("203.0.113.66", "203.0.113.68")
	if n := h.u.count("203.0.113.10"); n != 0 || h.u.blocked("203.0.113.10") {
		t.Errorf("counted %d", n)
	}
	h.write(t, swapped)
	pid := h.process.Process.Pid
	h.start(t, "-sf", fmt.Sprint(pid))
	h.connected("HAProxy has the rules of the node", func(c haproxy.LinkFigures) bool { return c.PID != pid })
	h.times(6, "203.0.113.10", http.MethodPost, "/other")
	h.refused("203.0.113.10", "203.0.113.11")
}
