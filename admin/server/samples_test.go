package server_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/server"
)

// asked is what a client's request held.
const asked = "/patients/4711"

// sampledServer shows a sample of one address to operators, or to readers too. Without
// tokens a client of loopback is a guest.
func sampledServer(t *testing.T, readers, tokens bool) *server.Server {
	t.Helper()
	n := newNode()
	n.sampled = netip.MustParsePrefix("203.0.113.7/32")
	n.samples = admin.KeptSamples{Each: 16, ForReaders: readers, Samples: []admin.Sample{
		{Time: start, Address: n.sampled.Addr(), Method: "GET", Path: asked + "/old", Agent: asked, Status: 200},
		{Time: start.Add(1), Address: n.sampled.Addr(), Method: "GET", Path: asked + "/new", Agent: asked, Refused: true},
	}}
	if !tokens {
		return serverOf(t, n, server.Config{})
	}
	token := filepath.Join(t.TempDir(), "readers")
	if err := os.WriteFile(token, []byte(readerSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return serverOf(t, n, server.Config{ReaderTokenFile: token})
}

// What clients asked for is shown by no route to those without a login, nor to readers
// unless the config says so.
func TestSamplesNeedALogin(t *testing.T) {
	for _, readers := range []bool{false, true} {
		s, open := sampledServer(t, readers, true), sampledServer(t, readers, false)
		shown := make(map[string]bool)
		for _, route := range append(append(s.Routes(), pages()...), "GET /address/{address}?view=blocked", "GET /address/{address}?rule=site") {
			if !strings.HasPrefix(route, "GET /") || strings.HasPrefix(route, "GET /debug/") {
				continue
			}
			if strings.Contains(answerOf(s, route, "203.0.113.7", "unix"), asked) {
				shown[route] = true
			}
			if answer := answerTo(s, route, "203.0.113.7", "127.0.0.1", ""); strings.Contains(answer, asked) {
				t.Errorf("%s shows it without a token: %s", route, answer)
			}
			if answer := answerOf(open, route, "203.0.113.7", "127.0.0.1"); strings.Contains(answer, asked) {
				t.Errorf("%s shows it to a guest: %s", route, answer)
			}
			answer := answerTo(s, route, "203.0.113.7", "127.0.0.1", "Bearer "+readerSecret)
			if strings.Contains(answer, asked) != (readers && shown[route]) {
				t.Errorf("%s, for readers %v: %s", route, readers, answer)
			}
		}
		if !shown["GET /api/v1/samples/{prefix...}"] {
			t.Errorf("no operator sees the samples: %v", shown)
		}
	}
}

// The newest comes first, and an answer without samples says why.
func TestSamples(t *testing.T) {
	s := sampledServer(t, false, false)
	get := func(prefix string) string { return answerOf(s, "GET /api/v1/samples/{prefix...}", prefix, "unix") }
	if body := get("203.0.113.7"); strings.Index(body, asked+"/new") > strings.Index(body, asked+"/old") || !strings.Contains(body, `"refused":true`) {
		t.Errorf("%s", body)
	}
	if body := get("203.0.113.8"); !strings.Contains(body, "no request of exactly 203.0.113.8/32") {
		t.Errorf("%s", body)
	}
	n := newNode()
	n.samples = admin.KeptSamples{}
	if body := answerOf(serverOf(t, n, server.Config{}), "GET /api/v1/samples/{prefix...}", "203.0.113.7", "unix"); !strings.Contains(body, "keeps no samples") {
		t.Errorf("%s", body)
	}
}
