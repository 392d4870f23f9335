package server_test

import (
	"context"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/server"
	"edgeguard/internal/lobby"
)

const (
	note    = "the customer in contract 4711" // an operator's
	verdict = "over the limit of site"        // a rule's
)

// noted is a server whose node has a note wherever one can be.
func noted(t *testing.T) *server.Server {
	t.Helper()
	n := newNode()
	put := func(prefix, rule, reason string) netip.Prefix {
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: rule, Reason: reason, Origin: "n1", Since: start, Until: start.Add(time.Hour)}
		if _, _, err := n.list.Add(b, true, start); err != nil {
			t.Fatal(err)
		}
		return b.Prefix
	}
	put("203.0.113.0/24", edgeguard.ManualRule, note)
	put("203.0.113.7/32", edgeguard.ManualRule, note)
	put("203.0.113.6/32", "site", verdict)
	n.list.Lift(put("203.0.113.7/32", "site", verdict), start, note, "n1")
	put("203.0.113.7/32", edgeguard.ManualRule, note)
	allow := edgeguard.Block{Prefix: netip.MustParsePrefix("198.51.100.7/32"), Rule: edgeguard.ManualRule, Reason: note, Allow: true, Since: start, Until: edgeguard.Forever}
	if _, _, err := n.list.Add(allow, true, start); err != nil {
		t.Fatal(err)
	}
	n.list.Disallow(allow.Prefix, start, note, "n1")
	if _, _, err := n.list.Add(allow, true, start); err != nil {
		t.Fatal(err)
	}
	n.rules[0].Overlay = &admin.Overlay{Threshold: 800, Base: 2000, Since: start, By: note, Note: note}
	n.held = []admin.HeldBlock{{Block: admin.Block{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Rule: edgeguard.ManualRule, Reason: note}, Kind: "block"}}
	return serverOf(t, n, server.Config{})
}

// answerOf is what a GET returns to a client of the unix socket, or to one of
// loopback without a token. A stream goes on until the end of its first events.
func answerOf(s *server.Server, route, address, from string) string {
	return answerTo(s, route, address, from, "")
}

// answerTo is answerOf a client that sends a header Authorization; empty for none.
func answerTo(s *server.Server, route, address, from, authorization string) string {
	_, path, _ := strings.Cut(route, " ")
	r := httptest.NewRequest("GET", wildcard.ReplaceAllString(path, address), nil)
	r.Host = "localhost"
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	ctx, cancel := context.WithCancel(access.WithPeer(r.Context(), &lobby.Conn{Conn: wire{from: from}}))
	defer cancel()
	if strings.HasPrefix(path, "/api/v1/events") || path == "/api/v1/watch" {
		cancel() // or the stream would not end
	}
	answer := httptest.NewRecorder()
	s.Handler.ServeHTTP(answer, r.WithContext(ctx))
	return answer.Body.String()
}

// What operators wrote is shown to nobody without a login, on any route.
func TestNotesNeedALogin(t *testing.T) {
	s := noted(t)
	seen := make(map[string]bool)
	for _, route := range append(append(s.Routes(), pages()...), "GET /api/v1/blocks?order=newest", "GET /changes?kind=all", "GET /find?q=contract+47") {
		if !strings.HasPrefix(route, "GET /") || strings.HasPrefix(route, "GET /debug/") {
			continue
		}
		for _, address := range []string{"203.0.113.7", "198.51.100.7"} {
			if strings.Contains(answerOf(s, route, address, "unix"), note) {
				seen[route] = true
			}
			if answer := answerOf(s, route, address, "127.0.0.1"); strings.Contains(answer, note) {
				t.Errorf("%s %s: %s", route, address, answer)
			}
		}
	}
	for _, route := range []string{"GET /api/v1/blocks", "GET /api/v1/blocks?order=newest", "GET /api/v1/blocks/{prefix...}", "GET /api/v1/held", "GET /api/v1/allow", "GET /api/v1/explain/{address}", "GET /api/v1/rules", "GET /api/v1/top", "GET /blocked", "GET /address/{address}", "GET /allowed", "GET /blocked/held", "GET /changes?kind=all", "GET /find?q=contract+47"} {
		if !seen[route] {
			t.Errorf("%s: shows no note over the unix socket", route)
		}
	}
	if answer := answerOf(s, "GET /api/v1/blocks", "", "127.0.0.1"); !strings.Contains(answer, verdict) || !strings.Contains(answer, "203.0.113.7/32") {
		t.Errorf("what the rule wrote is missing: %s", answer)
	}
}

// Nor in the stream of events.
func TestStreamsHaveNoNotesWithoutLogin(t *testing.T) {
	s := noted(t)
	all := "GET /api/v1/events?after=0" // what was missed is sent though the request has ended
	full, guests := answerOf(s, all, "", "unix"), answerOf(s, all, "", "127.0.0.1")
	for _, kind := range []string{admin.EventBlock, admin.EventUnblock, admin.EventAllow, admin.EventDisallow} {
		if !strings.Contains(full, "event: "+kind) || !strings.Contains(guests, "event: "+kind) {
			t.Errorf("no %s: %s", kind, guests)
		}
	}
	if strings.Count(full, note) < 4 || strings.Contains(guests, note) || !strings.Contains(guests, verdict) {
		t.Errorf("with a login:\n%s\nwithout:\n%s", full, guests)
	}
}
