package server_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/console"
	"edgeguard/admin/metrics"
	"edgeguard/admin/server"
)

func newServer(t testing.TB, c server.Config) *server.Server {
	t.Helper()
	return serverOf(t, newNode(), c)
}

func serverOf(t testing.TB, n *node, c server.Config) *server.Server {
	t.Helper()
	c.View, c.Operator, c.Metrics = admin.NewView(n, n.events), n, metrics.New(n, n.events, nil)
	if c.Pages == nil {
		c.Pages = consolePages
	}
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// consolePages are the console's, which say in a header what their forms carry.
func consolePages(view *admin.View, changes *admin.Changes) map[string]http.Handler {
	routes := console.New(view, changes).Routes()
	for pattern, page := range routes {
		routes[pattern] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Form-Token", access.FormToken(r))
			page.ServeHTTP(w, r)
		})
	}
	return routes
}

func TestRefusesToListenBeyondLoopback(t *testing.T) {
	open, closed := newServer(t, server.Config{}), newServer(t, server.Config{TokenFile: tokenFile(t, secret)})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for address, beyond := range map[string]bool{"0.0.0.0:0": true, "[::]:0": true, ":0": true, "127.0.0.1:0": false, "127.9.9.9:0": false, "localhost:0": false} {
		for _, s := range []*server.Server{open, closed} {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Logf("%s: %v", address, err)
				continue
			}
			err = s.Serve(over, l)
			if refused := err != nil && strings.Contains(err.Error(), "token_file"); refused != (beyond && s == open) {
				t.Errorf("%s, with a token: %t: %v", address, s == closed, err)
			}
			if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: the listener is still open: %v", address, err)
			}
		}
	}
}

func TestBadTokenFile(t *testing.T) {
	n := newNode()
	file := tokenFile(t, "short")
	_, err := server.New(server.Config{View: admin.NewView(n, n.events), Operator: n, Metrics: metrics.New(n, n.events, nil), TokenFile: file})
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}
