package lapi_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// open sends a request and returns its connection, with a deadline that only a server
// which does not answer reaches.
func open(t *testing.T, s *httptest.Server, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return c
}

func status(t *testing.T, c net.Conn) int {
	t.Helper()
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal("no answer:", err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// TestBodyThatNeverComes: who shows no key is refused at once, whatever body he announced.
// Connections that wait for one are the lobby's last to close, and who opened some a
// second locked the bouncers out.
func TestBodyThatNeverComes(t *testing.T) {
	a := newAPI(t)
	s := httptest.NewServer(a.Server)
	t.Cleanup(s.Close) // after the connections
	for request, want := range map[string]int{
		"POST /v1/usage-metrics":    http.StatusForbidden,
		"GET /v1/decisions/stream":  http.StatusForbidden,
		"POST /health":              http.StatusOK,
		"POST /api/v1/blocks/add?a": http.StatusForbidden,
	} {
		for _, body := range []string{"Content-Length: 100000", "Transfer-Encoding: chunked"} {
			c := open(t, s, request+" HTTP/1.1\r\nHost: x\r\n"+body+"\r\n\r\n")
			if got := status(t, c); got != want {
				t.Errorf("%s, %s: %d, want %d", request, body, got, want)
			}
		}
	}
}

// TestOneKeyHoldsConnections: a key has a bounded number of requests open, so that the
// others have the rest of the connections.
func TestOneKeyHoldsConnections(t *testing.T) {
	a := newAPI(t)
	s := httptest.NewServer(a.Server)
	t.Cleanup(s.Close) // after the connections
	other := a.add(t, "edge2", "auto")
	held := fmt.Sprintf("POST /v1/usage-metrics HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: 1000\r\n\r\n", a.key)
	var all []net.Conn
	for range 64 {
		all = append(all, open(t, s, held))
	}
	refused := false
	for range 100 { // the server may not have read the others yet
		c := open(t, s, held)
		_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if answer, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
			_ = answer.Body.Close()
			refused = answer.StatusCode == http.StatusTooManyRequests
			break
		}
	}
	if !refused {
		t.Error("one key holds as many connections as it likes")
	}
	if got := status(t, open(t, s, fmt.Sprintf("GET /v1/decisions/stream HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\n\r\n", other))); got != 200 {
		t.Errorf("another key: %d", got)
	}
	for _, c := range all {
		_ = c.Close()
	}
}
