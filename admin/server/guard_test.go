package server_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/admin/server"
)

const secret = "0123456789abcdef0123456789abcdef"

func tokenFile(t testing.TB, token string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Who comes how, wants what, and what becomes of it.
func TestAuthorization(t *testing.T) {
	open := serve(t, newNode(), server.Config{})
	closed := serve(t, newNode(), server.Config{TokenFile: tokenFile(t, secret)})
	const (
		get, post, profile, health = "GET /api/v1/blocks", "POST /api/v1/blocks", "GET /debug/pprof/cmdline", "GET /healthz"
		metrics                    = "GET /metrics"
		right, wrong, basic        = "Bearer " + secret, "Bearer " + secret + "0", "Basic " + secret
	)
	for _, c := range []struct {
		name   string
		on     *served
		unix   bool
		token  string
		host   string
		origin string
		kind   string // content type
		want   map[string]int
	}{
		{name: "unix", on: open, unix: true, want: map[string]int{get: 200, post: 201, profile: 200, health: 200, metrics: 200}},
		{name: "unix beside a token", on: closed, unix: true, want: map[string]int{get: 200, post: 201, profile: 200, health: 200, metrics: 200}},
		{name: "unix, foreign host", on: open, unix: true, host: "evil.example", want: map[string]int{get: 200, post: 201}},
		{name: "loopback without token", on: open, want: map[string]int{get: 200, post: 403, profile: 403, health: 200, metrics: 200}},
		{name: "loopback, needless token", on: open, token: right, want: map[string]int{get: 200, post: 403}},
		{name: "loopback, token missing", on: closed, want: map[string]int{get: 401, post: 401, profile: 401, health: 200, metrics: 401}},
		{name: "loopback, token wrong", on: closed, token: wrong, want: map[string]int{get: 401, post: 401, profile: 401, health: 200, metrics: 401}},
		{name: "loopback, wrong scheme", on: closed, token: basic, want: map[string]int{get: 401, post: 401}},
		{name: "loopback, empty token", on: closed, token: "Bearer ", want: map[string]int{get: 401, post: 401}},
		{name: "loopback, token right", on: closed, token: right, want: map[string]int{get: 200, post: 201, profile: 200, health: 200, metrics: 200}},
		{name: "rebound name", on: open, host: "evil.example", want: map[string]int{get: 421, post: 421, profile: 421, health: 200, metrics: 421}},
		{name: "rebound name with port", on: open, host: "evil.example:9190", want: map[string]int{get: 421}},
		{name: "name that begins like ours", on: open, host: "localhost.evil.example", want: map[string]int{get: 421}},
		{name: "localhost", on: open, host: "localhost:9190", want: map[string]int{get: 200}},
		{name: "IPv6 loopback", on: open, host: "[::1]:9190", want: map[string]int{get: 200}},
		{name: "IPv6 loopback without port", on: open, host: "[::1]", want: map[string]int{get: 200}},
		{name: "other address", on: open, host: "192.0.2.1", want: map[string]int{get: 421}},
		{name: "a form's content type", on: closed, token: right, kind: "application/x-www-form-urlencoded", want: map[string]int{get: 200, post: 415}},
		{name: "text", on: open, unix: true, kind: "text/plain; charset=application/json", want: map[string]int{post: 415}},
		{name: "no content type", on: open, unix: true, kind: "-", want: map[string]int{post: 415}},
		{name: "content type with charset", on: open, unix: true, kind: "application/json; charset=utf-8", want: map[string]int{post: 201}},
		{name: "another site's page", on: closed, token: right, origin: "https://evil.example", want: map[string]int{get: 200, post: 403}},
	} {
		for what, want := range c.want {
			method, path, _ := strings.Cut(what, " ")
			r := request{method: method, path: path, unix: c.unix, host: c.host, header: map[string]string{"Content-Type": "application/json"}}
			if method == "POST" {
				r.body = `{"prefix":"203.0.113.7"}`
			}
			if c.token != "" {
				r.header["Authorization"] = c.token
			}
			if c.origin != "" {
				r.header["Origin"] = c.origin
			}
			if c.kind != "" {
				r.header["Content-Type"] = strings.TrimPrefix(c.kind, "-")
			}
			if status, body := c.on.ask(t, r); status != want {
				t.Errorf("%s: %s: %d, want %d: %s", c.name, what, status, want, body)
			}
		}
	}
}

func TestTokenIsReadAgain(t *testing.T) {
	file := tokenFile(t, secret)
	s := serve(t, newNode(), server.Config{TokenFile: file})
	status := func(token string) int {
		code, _ := s.ask(t, request{method: "GET", path: "/api/v1/status", header: map[string]string{"Authorization": "bearer " + token}})
		return code
	}
	replace := func(content string) error {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.server.ReadTokens()
	}
	const next = "another-token-of-enough-length"
	if err := replace(next); err != nil || status(next) != 200 || status(secret) != 401 {
		t.Errorf("%v: new token %d, old %d", err, status(next), status(secret))
	}
	if err := replace("short"); err == nil || status(next) != 200 {
		t.Errorf("%v: a short token took the place of the previous one: %d", err, status(next))
	}
}

// A refused login ends its connection: what was sent with it is not answered.
func TestRefusedLoginEndsTheConnection(t *testing.T) {
	closed := serve(t, newNode(), server.Config{TokenFile: tokenFile(t, secret)})
	for token, want := range map[string]int{secret: 2, "wrong": 1} {
		c, err := net.Dial("tcp", closed.tcp)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ask := "GET /api/v1/blocks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n"
		if _, err := io.WriteString(c, ask+"\r\n"+ask+"Connection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), "HTTP/1.1 "); got != want {
			t.Errorf("with the token %q, %d of 2 requests are answered, want %d", token, got, want)
		}
	}
}
