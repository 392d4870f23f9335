package access

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a peer beyond loopback may do, which no test on one machine can be.
func TestRefusalOfStrangers(t *testing.T) {
	secret, err := New(Admitted{TokenFile: tokenFile(t, "0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	open, err := New(Admitted{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name         string
		policy       *Policy
		shown        string
		method, path string
		known        bool // the connection's peer is known
		want         string
	}{
		{"no token is set", open, "", "GET", "/api/v1/blocks", true, "token"},
		{"no token is set, shows one", open, "0123456789abcdef", "GET", "/api/v1/blocks", true, "token"},
		{"no token is set, peer unknown", open, "", "GET", "/metrics", false, "token"},
		{"health", open, "", "GET", "/healthz", true, ""},
		{"nothing shown", secret, "", "GET", "/metrics", true, "token"},
		{"right token", secret, "0123456789abcdef", "GET", "/metrics", true, ""},
		{"right token, any host", secret, "0123456789abcdef", "GET", "/api/v1/blocks", true, ""},
		{"right token, profile", secret, "0123456789abcdef", "GET", "/debug/pprof/heap", true, "profile"},
		{"right token, write as a form", secret, "0123456789abcdef", "POST", "/api/v1/reload", true, "content"},
		{"something that only begins like health", secret, "", "GET", "/healthz/../metrics", true, "token"},
		{"no route", open, "", "GET", "/", true, "token"},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Host = "edge.example"
		if c.shown != "" {
			r.Header.Set("Authorization", "Bearer "+c.shown)
		}
		if c.known {
			r = r.WithContext(context.WithValue(r.Context(), peerKey{}, &Peer{Who: "198.51.100.1:1234"}))
		}
		reason := ""
		if _, refusal := c.policy.Check(r, c.path); refusal != nil {
			reason = refusal.Reason
		}
		if reason != c.want {
			t.Errorf("%s: %q, want %q", c.name, reason, c.want)
		}
	}
}

// A repeated header counts where one of its values does, and an empty one not.
func TestSignsOfAProxy(t *testing.T) {
	for _, c := range []struct {
		values []string
		want   string
	}{
		{[]string{""}, ""}, {[]string{"", ""}, ""}, {[]string{"", "198.51.100.1"}, "X-Real-Ip"}, {[]string{"198.51.100.1"}, "X-Real-Ip"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["X-Real-Ip"] = c.values
		if got := proxied(r); got != c.want {
			t.Errorf("%q: %q, want %q", c.values, got, c.want)
		}
	}
}

// Each refusal for a role that is too low says what would do.
func TestTooLow(t *testing.T) {
	for _, c := range []struct {
		has, needs  Role
		path        string
		reason, fix string
	}{
		{Guest, Reader, "/api/v1/notes", "login", "set token_file"},
		{Guest, Operator, "/api/v1/blocks", "readonly", "set token_file"},
		{Reader, Operator, "/api/v1/blocks", "role", "as an operator"},
		{Guest, Operator, "/debug/pprof/heap", "profile", "--unix-socket"},
		{Reader, Operator, "/debug/pprof/heap", "profile", "--unix-socket"},
	} {
		if refusal := tooLow(c.has, c.needs, c.path); refusal.Reason != c.reason || !strings.Contains(refusal.Fix, c.fix) {
			t.Errorf("%+v: %+v", c, refusal)
		}
	}
}
