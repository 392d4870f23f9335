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
	if _, err = io.WriteString(a.conn, question(client, path)); err != nil {
		return false, err
	}
	refused, err = a.answer()
	a.took = append(a.took, time.Since(begun))
	return refused, err
}

// crowd asks once about each of the first so many clients, a hundred at a time, and returns
// how many were refused.
func (a *asker) crowd(clients int) (refused int, err error) {
	for from := 0; from < clients; from += 100 {
		to := min(from+100, clients)
		var text strings.Builder
		for k := from; k < to; k++ {
			text.WriteString(question(address(k).String(), "/"))
		}
		if err := a.conn.SetDeadline(time.Now().Add(patience)); err != nil {
			return refused, err
		}
		if _, err := io.WriteString(a.conn, text.String()); err != nil {
			return refused, err
		}
		for range to - from {
			no, err := a.answer()
			if err != nil {
				return refused, err
			}
			if no {
				refused++
			}
		}
	}
	return refused, nil
}

// question is what nginx asks about a client's request for a path.
func question(client, path string) string {
	return "GET /auth/nginx HTTP/1.1\r\nHost: localhost\r\nX-Real-IP: " + client + "\r\nX-Original-URI: " + path + "\r\nX-Original-Method: GET\r\n\r\n"
}

// answer reads one.
func (a *asker) answer() (refused bool, err error) {
	answer, err := http.ReadResponse(a.answers, nil)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return false, err
	}
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
