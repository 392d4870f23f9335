package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/internal/program"
)

// node is a running edgeguard.
type node struct {
	*program.Process
	t     *testing.T
	admin *client.Client // an operator's, over the unix socket
	// base is where its pages need no login, shown where a token is required, and
	// auth its forward auth.
	base, shown, auth string
}

const token = "a-token-that-only-operators-have"

// limit is that of the rule site.
const limit = 190

// rules are those of most nodes here.
const rules = `
rules:
  - {name: site, threshold: 200, candidates: [100, 150]}
  - {name: login, threshold: 20, match: {path: [/login]}, block_for: 1h}
  - {name: probing, threshold: 40, match: {path: [/wp-login.php]}, action: shadow}
`

// start runs a node until the test ends.
func start(t *testing.T, name, more string) *node {
	t.Helper()
	n := prepare(t, name, more)
	n.launch()
	return n
}

// prepare writes a node's config.
func prepare(t *testing.T, name, more string) *node {
	t.Helper()
	open, closed, auth := program.Address(t), program.Address(t), program.Address(t)
	n := &node{t: t, base: "http://" + open, shown: "http://" + closed, auth: auth}
	n.Process = program.NewNode(t, fmt.Sprintf(`
node: %s
state: $DIR/state
listen:
  auth: [%q]
  admin: [%q, "unix:$DIR/admin.sock", {address: %q, token_file: $DIR/token}]
allowlist: [192.0.2.0/24]
%s`, name, auth, open, closed, more))
	if err := os.WriteFile(n.Path("token"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if n.admin, err = client.New(client.Config{Address: "unix:" + n.Path("admin.sock")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.admin.Close)
	return n
}

func (n *node) launch() {
	n.t.Helper()
	n.Launch()
	n.Until("it is ready", func() bool {
		s, err := n.admin.Status(n.t.Context())
		return err == nil && s.Ready
	})
}

// operator sends a tab's requests with the token, to the address that requires it.
func (b *tab) operator() {
	b.t.Helper()
	b.do(network.SetExtraHTTPHeaders(network.Headers{"Authorization": "Bearer " + token}))
}

// ask sends requests of a client to the node's forward auth, and returns how many
// it refused.
func (n *node) ask(addr, path string, times int) (refused int) {
	n.t.Helper()
	return ask(n.t, "http://"+n.auth+"/auth/nginx", addr, path, times)
}

var asker = &http.Client{Timeout: patience}

func ask(t *testing.T, to, addr, path string, times int) (refused int) {
	t.Helper()
	for range times {
		if question(t, to, addr, path, "curl/8.0") != http.StatusOK {
			refused++
		}
	}
	return refused
}

// askAs sends one request of a client that calls itself something.
func (n *node) askAs(addr, path, agent string) {
	n.t.Helper()
	question(n.t, "http://"+n.auth+"/auth/nginx", addr, path, agent)
}

func question(t *testing.T, to, addr, path, agent string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", to, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Real-IP", addr)
	r.Header.Set("X-Original-URI", path)
	r.Header.Set("User-Agent", agent)
	answer, err := asker.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode
}

// block has an operator block a prefix.
func (n *node) block(prefix, reason string) {
	n.t.Helper()
	if _, err := n.admin.Block(n.t.Context(), admin.BlockRequest{Prefix: prefix, For: "2h", Reason: reason, Force: true}); err != nil {
		n.t.Fatal(err)
	}
}

// allow has an operator allow a prefix.
func (n *node) allow(prefix, reason string) {
	n.t.Helper()
	if _, err := n.admin.Allow(n.t.Context(), admin.AllowRequest{Prefix: prefix, For: "24h", Reason: reason}); err != nil {
		n.t.Fatal(err)
	}
}

// explain returns what the API says of an address.
func (n *node) explain(addr string) admin.Explanation {
	n.t.Helper()
	e, err := n.admin.Explain(n.t.Context(), netip.MustParseAddr(addr))
	if err != nil {
		n.t.Fatal(err)
	}
	return e
}

// status returns a node's figures.
func (n *node) status() admin.Stats {
	n.t.Helper()
	s, err := n.admin.Status(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

// blocked waits until addresses are blocked on this node.
func (n *node) blocked(addrs ...string) {
	n.t.Helper()
	for _, addr := range addrs {
		n.Until(addr+" is blocked", func() bool { return n.explain(addr).Block != nil })
	}
}

// get returns an answer of the node's API without a login, as text.
func (n *node) get(path string) string {
	n.t.Helper()
	answer, err := asker.Get(n.base + path)
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		n.t.Fatalf("%s: %d %v", path, answer.StatusCode, err)
	}
	return string(body)
}

// site is an nginx that asks a node before each request, as `edgeguard snippets`
// says, with a server behind it.
func site(t *testing.T, n *node) string {
	t.Helper()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "welcome") }))
	t.Cleanup(backend.Close)
	dir, address := t.TempDir(), program.Address(t)
	var conf strings.Builder
	// The tests' clients are all of this host, so a header says who they are.
	fmt.Fprintf(&conf, "daemon off;\nmaster_process off;\npid %s/pid;\nerror_log stderr error;\nevents {}\nhttp {\naccess_log off;\nset_real_ip_from 127.0.0.1;\nreal_ip_header X-Real-IP;\n", dir)
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&conf, "%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	values := snippets.Values{Auth: n.auth, Listen: address, Backend: backend.Listener.Addr().String()}
	if err := snippets.Write(&conf, "nginx", values); err != nil {
		t.Fatal(err)
	}
	conf.WriteString("}\n")
	file := filepath.Join(dir, "nginx.conf")
	// A busy machine must not let a request pass that edgeguard would count.
	patient := strings.NewReplacer("proxy_connect_timeout 50ms", "proxy_connect_timeout 60s", "proxy_send_timeout 100ms", "proxy_send_timeout 60s", "proxy_read_timeout 100ms", "proxy_read_timeout 60s")
	if err := os.WriteFile(file, []byte(patient.Replace(conf.String())), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("nginx", "-p", dir, "-c", file)
	run.Stderr = os.Stderr
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	t.Cleanup(func() { _ = run.Process.Kill(); <-ended })
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if c, err := new(net.Dialer).DialContext(context.Background(), "tcp", address); err == nil {
			_ = c.Close()
			return "http://" + address + "/"
		}
		if time.Now().After(deadline) {
			t.Fatal("nginx does not listen")
		}
	}
}
