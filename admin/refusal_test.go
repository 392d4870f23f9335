package admin

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// What a peer beyond loopback may do, which no test on one machine can be.
func TestRefusalOfStrangers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := &token{file: file}
	if err := secret.read(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name         string
		token        *token
		shown        string
		method, path string
		known        bool // the connection's peer is known
		want         string
	}{
		{"no token is set", nil, "", "GET", "/api/v1/blocks", true, "token"},
		{"no token is set, shows one", nil, "0123456789abcdef", "GET", "/api/v1/blocks", true, "token"},
		{"no token is set, peer unknown", nil, "", "GET", "/metrics", false, "token"},
		{"health", nil, "", "GET", "/healthz", true, ""},
		{"nothing shown", secret, "", "GET", "/metrics", true, "token"},
		{"right token", secret, "0123456789abcdef", "GET", "/metrics", true, ""},
		{"right token, any host", secret, "0123456789abcdef", "GET", "/api/v1/blocks", true, ""},
		{"right token, profile", secret, "0123456789abcdef", "GET", "/debug/pprof/heap", true, "profile"},
		{"right token, write as a form", secret, "0123456789abcdef", "POST", "/api/v1/reload", true, "content"},
		{"something that only begins like health", secret, "", "GET", "/healthz/../metrics", true, "token"},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Host = "edge.example"
		if c.shown != "" {
			r.Header.Set("Authorization", "Bearer "+c.shown)
		}
		if c.known {
			r = r.WithContext(context.WithValue(r.Context(), peerKey{}, &peer{who: "198.51.100.1:1234"}))
		}
		s := &Server{token: c.token}
		if reason, p := s.refusal(r); reason != c.want || (p == nil) != (c.want == "") {
			t.Errorf("%s: %q, %v; want %q", c.name, reason, p, c.want)
		}
	}
}
