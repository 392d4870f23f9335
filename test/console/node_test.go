package console

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/internal/program"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if underRace {
		fmt.Println("skipped under the race detector: what is tried here is another process, built without it; its parts' own tests run under it")
		return 0
	}
	defer program.Clean()
	return m.Run()
}

// ownNode is a running edgeguard.
type ownNode struct {
	*program.Process
	t          *testing.T
	admin      *client.Client
	base, auth string       // where its pages and its forward auth are
	operator   *http.Client // who comes over the unix socket
}

const limit = 190 // of the rule site: 0.95 times its threshold

func start(t *testing.T, more string) *ownNode {
	t.Helper()
	return startAs(t, "edge-1", more)
}

func startAs(t *testing.T, name, more string) *ownNode {
	t.Helper()
	pages, auth := program.Port(t), program.Port(t)
	n := &ownNode{t: t, base: fmt.Sprintf("http://127.0.0.1:%d", pages), auth: fmt.Sprintf("http://127.0.0.1:%d/auth/nginx", auth)}
	n.Process = program.NewNode(t, fmt.Sprintf(`
node: %s
state: $DIR/state
listen: {auth: ["127.0.0.1:%d"], admin: ["127.0.0.1:%d", "unix:$DIR/admin.sock"]}
allowlist: [192.0.2.0/24]
rules:
  - {name: site, threshold: 200, candidates: [100]}
  - {name: login, threshold: 20, match: {path: [/login]}, action: shadow}
%s`, name, auth, pages, more))
	var err error
	if n.admin, err = client.New(client.Config{Address: "unix:" + n.Path("admin.sock")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.admin.Close() })
	n.operator = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", n.Path("admin.sock"))
	}}}
	t.Cleanup(n.operator.CloseIdleConnections)
	n.Launch()
	n.Until("it is ready", func() bool {
		s, err := n.admin.Status(t.Context())
		return err == nil && s.Ready
	})
	return n
}

// ask sends requests of a client to the forward auth.
func (n *ownNode) ask(addr, path string, times int) {
	n.t.Helper()
	for range times {
		r, _ := http.NewRequestWithContext(n.t.Context(), "GET", n.auth, nil)
		r.Header.Set("X-Real-IP", addr)
		r.Header.Set("X-Original-URI", path)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			n.t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}

// block has an operator block a prefix.
func (n *ownNode) block(prefix, reason string) {
	n.t.Helper()
	if _, err := n.admin.Block(n.t.Context(), admin.BlockRequest{Prefix: prefix, For: "2h", Reason: reason}); err != nil {
		n.t.Fatal(err)
	}
}

// page is an answer.
type page struct {
	status int
	header http.Header
	body   string
}

// get asks for a page as somebody without a login, or as an operator.
func (n *ownNode) get(path string, operator bool) page {
	n.t.Helper()
	asks := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if operator {
		asks.Transport = n.operator.Transport
	}
	r, err := http.NewRequestWithContext(n.t.Context(), "GET", n.base+path, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	answer, err := asks.Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return page{answer.StatusCode, answer.Header, string(body)}
}

// explain returns what the API says of an address.
func (n *ownNode) explain(addr string) admin.Explanation {
	n.t.Helper()
	e, err := n.admin.Explain(n.t.Context(), netip.MustParseAddr(addr))
	if err != nil {
		n.t.Fatal(err)
	}
	return e
}

// patience bounds every wait for something that must happen. Nothing is measured
// by it.
const patience = 60 * time.Second
