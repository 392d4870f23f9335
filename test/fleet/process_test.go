package fleet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// process is a running edgeguard with a fleet.
type process struct {
	*program.Process
	proxy *redistest.Proxy
	admin *http.Client
}

// startProcess runs a node until the test ends, and returns when it answers.
// Its rule is a limit of 40 in 5 minutes in the fleet.
func startProcess(t *testing.T, name string, server *redistest.Server) *process {
	t.Helper()
	proxy := redistest.NewProxy(t, server.Addr)
	p := &process{proxy: proxy, Process: program.NewNode(t, fmt.Sprintf(`
node: %s
state: $DIR/state
listen: {auth: ["unix:$DIR/auth.sock"], admin: ["unix:$DIR/admin.sock"]}
rules:
  - {name: site, threshold: 40, guard: 1, window: 5m, block_for: 1h}
fleet: {redis: "redis://%s", namespace: test, max_nodes: 2}
`, name, proxy.Addr))}
	p.admin = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", p.Path("admin.sock"))
	}}}
	t.Cleanup(p.admin.CloseIdleConnections)
	p.Launch()
	t.Cleanup(p.Stop)
	p.Until(name+" is ready", func() bool { _, err := p.readyz(); return err == nil })
	return p
}

// readyz returns what the node reports to a load balancer.
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

// asker sends requests to a node on one connection, as nginx does.
type asker struct {
	conn    net.Conn
	answers *bufio.Reader
	took    []time.Duration
}

func (p *process) asker() (*asker, error) {
	conn, err := net.Dial("unix", p.Path("auth.sock"))
	if err != nil {
		return nil, err
	}
	return &asker{conn: conn, answers: bufio.NewReader(conn)}, nil
}

// refused asks about a client once.
func (a *asker) refused(client string) (refused bool, err error) { return a.asks(client, "/") }

// asks asks about a client's request for a path.
func (a *asker) asks(client, path string) (refused bool, err error) {
	begun := time.Now()
	if err := a.conn.SetDeadline(begun.Add(patience)); err != nil {
		return false, err
	}
	_, err = fmt.Fprintf(a.conn, "GET /auth/nginx HTTP/1.1\r\nHost: localhost\r\nX-Real-IP: %s\r\nX-Original-URI: %s\r\nX-Original-Method: GET\r\n\r\n", client, path)
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

// degraded reports whether the node calls itself degraded.
func (p *process) degraded() bool {
	text, err := p.readyz()
	return err == nil && strings.Contains(text, `"degraded":true`)
}
