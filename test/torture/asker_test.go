package torture

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// asker asks one node on one connection, as a proxy does.
type asker struct {
	conn    net.Conn
	answers *bufio.Reader
	request strings.Builder
}

func newAsker(conn net.Conn) *asker {
	return &asker{conn: conn, answers: bufio.NewReader(conn)}
}

// asker connects to the node's forward auth.
func (n *node) asker() *asker { return newAsker(n.dial("unix", n.Path("auth.sock"))) }

// ask sends a request with these header lines and gives the answer's status.
func (a *asker) ask(path string, header ...string) (status int, err error) {
	a.request.Reset()
	a.request.WriteString("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n")
	for _, line := range header {
		a.request.WriteString(line + "\r\n")
	}
	a.request.WriteString("\r\n")
	if err := a.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(a.conn, a.request.String()); err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(a.answers, nil)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// nginx asks about a client by nginx's protocol, and says whether it is
// refused.
func (a *asker) nginx(client string) (refused bool, err error) {
	status, err := a.ask("/auth/nginx", "X-Real-IP: "+client, "X-Original-URI: /", "X-Original-Method: GET")
	return status == http.StatusForbidden, err
}

// passes counts how many of the requests that it is given were let through,
// and at which one, from 1, the first was refused.
type passes struct{ asked, passed, firstRefused int }

func (p *passes) note(refused bool) {
	p.asked++
	if !refused {
		p.passed++
	} else if p.firstRefused == 0 {
		p.firstRefused = p.asked
	}
}
