package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/internal/program"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// against returns a client of a server that answers with one handler.
func against(t *testing.T, handler http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("  secret-token-of-some-length\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{Address: strings.TrimPrefix(server.URL, "http://"), TokenFile: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestWhatIsSent(t *testing.T) {
	var got []string
	c := against(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret-token-of-some-length" {
			t.Errorf("authorization %q", r.Header.Get("Authorization"))
		}
		if r.Method != http.MethodGet && r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s with content type %q", r.Method, r.Header.Get("Content-Type"))
		}
		got = append(got, r.Method+" "+r.URL.RequestURI())
		_, _ = w.Write([]byte("{}"))
	})
	ctx := t.Context()
	_, _ = c.Block(ctx, admin.BlockRequest{Prefix: "203.0.113.7"})
	_, _ = c.Unblock(ctx, "203.0.113.0/24", "a & b")
	_, _ = c.Allow(ctx, admin.AllowRequest{Prefix: "203.0.113.7"})
	_, _ = c.Allowances(ctx)
	_, _ = c.Disallow(ctx, "2001:db8::/64", "x")
	_, _ = c.Clients(ctx)
	_, _ = c.AddClient(ctx, admin.ClientRequest{Prefix: "10.0.0.0/8"})
	_, _ = c.RemoveClient(ctx, "10.0.0.0/8", "x")
	_, _ = c.Explain(ctx, netip.MustParseAddr("2001:db8::1"))
	_, _ = c.Top(ctx, 7)
	_, _ = c.Confirm(ctx, admin.ConfirmRequest{All: true})
	_, _ = c.Sign(ctx, admin.SignRequest{})
	_, _ = c.FleetHeld(ctx)
	for range c.Held(ctx) {
	}
	for range c.Blocks(ctx, client.Filter{Rule: "site", Contains: "203.0.113.7"}) {
	}
	want := `POST /api/v1/blocks
DELETE /api/v1/blocks/203.0.113.0/24?reason=a+%26+b
POST /api/v1/allow
GET /api/v1/allow
DELETE /api/v1/allow/2001:db8::/64?reason=x
GET /api/v1/clients
POST /api/v1/clients
DELETE /api/v1/clients/10.0.0.0/8?reason=x
GET /api/v1/explain/2001:db8::1
GET /api/v1/top?limit=7
POST /api/v1/held/confirm
POST /api/v1/fleet/sign
GET /api/v1/fleet/held
GET /api/v1/held?limit=1000
GET /api/v1/blocks?contains=203.0.113.7&limit=1000&rule=site`
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("sent:\n%s\nwant:\n%s", got, want)
	}
}

// Answers that are no edgeguard's become errors that say so.
func TestForeignAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"a page":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "invalid answer"},
		"an error": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) }, "502 Bad Gateway"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}, "302 Found"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"keys":`))
		}, "invalid answer"},
		"a problem": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(400)
			_, _ = w.Write([]byte(`{"status":400,"detail":"is wrong","field":"prefix","fix":"write it right"}`))
		}, "prefix: is wrong; write it right"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := against(t, tc.handler).Top(t.Context(), 1); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	free := program.Address(t)
	for _, address := range []string{free, "unix:" + filepath.Join(t.TempDir(), "none.sock")} {
		c, err := client.New(client.Config{Address: address})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "is edgeguard serving there?") || !strings.Contains(err.Error(), address) ||
			strings.Contains(err.Error(), "Get ") || strings.Contains(err.Error(), "dial ") || strings.Contains(err.Error(), "connect: ") {
			t.Errorf("%s: %v", address, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Status(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, canceled: %v", address, err)
		}
	}
	for _, c := range []client.Config{{Address: ""}, {Address: "localhost"}, {Address: free, TokenFile: "/nonexistent/token"}} {
		if _, err := client.New(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

// A list breaks off at the first error, and says so.
func TestListBreaksOff(t *testing.T) {
	pages := 0
	c := against(t, func(w http.ResponseWriter, _ *http.Request) {
		if pages++; pages > 1 {
			http.Error(w, "gone", 500)
			return
		}
		_, _ = w.Write([]byte(`{"blocks":[{"prefix":"203.0.113.7/32"}],"next":"203.0.113.7/32"}`))
	})
	blocks, errs := 0, 0
	for _, err := range c.Blocks(t.Context(), client.Filter{}) {
		if err != nil {
			errs++
		} else {
			blocks++
		}
	}
	if blocks != 1 || errs != 1 {
		t.Errorf("%d blocks, %d errors", blocks, errs)
	}
}
