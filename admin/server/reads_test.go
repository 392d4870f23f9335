package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/server"
)

// decode asks over the unix socket and reads the answer.
func decode[T any](t testing.TB, s *served, path string) (out T) {
	t.Helper()
	status, body := s.ask(t, request{method: "GET", path: path, unix: true})
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, status, body)
	}
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return out
}

func TestExplain(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	s.mustBlock(t, "203.0.113.0/24", "site", "n1")
	s.mustBlock(t, "198.51.100.1/32", "site", "n1")
	s.list.Lift(netip.MustParsePrefix("203.0.113.0/24"), start, "mistake", "n1")
	s.mustBlock(t, "203.0.113.9/32", "login", "n1")
	e, err := s.overUnix(t).Explain(t.Context(), netip.MustParseAddr("203.0.113.9"))
	if err != nil {
		t.Fatal(err)
	}
	if e.Standing != "blocked" || e.Block == nil || e.Block.Rule != "login" {
		t.Errorf("stands as %s, %+v", e.Standing, e.Block)
	}
	if len(e.Rules) != 1 || e.Rules[0].Does != "block" || len(e.Rules[0].Slots) != 60 {
		t.Errorf("rules: %+v", e.Rules)
	}
	var history []string
	for _, event := range e.History {
		history = append(history, event.Kind+" "+event.Block.Prefix.String())
	}
	want := "block 203.0.113.9/32, unblock 203.0.113.0/24, block 203.0.113.0/24"
	if got := strings.Join(history, ", "); got != want {
		t.Errorf("history: %s\nwant: %s", got, want)
	}
}

func TestRules(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	rules := decode[admin.RuleList](t, s, "/api/v1/rules").Rules
	if len(rules) != 1 || rules[0].Candidates[0].Crossings != 2 {
		t.Fatalf("%+v", rules)
	}
	d := decode[admin.RuleDetail](t, s, "/api/v1/rules/site?limit=3")
	var keys uint64
	for _, b := range d.Histogram {
		keys += b.Keys
	}
	if d.Keys != 1000 || keys != 1000 || d.Quantiles.Max != 1000 || len(d.Top) != 3 || d.Requests != 500_500 || d.Suggestion.Threshold != 0 || !strings.HasPrefix(d.Suggestion.Reason, "no abuser is visible") || d.AsOf.IsZero() || d.Top[0].Shown != "20.0.0.0" {
		t.Errorf("%+v", d)
	}
	if status, body := s.ask(t, request{method: "GET", path: "/api/v1/rules/a%2Fb", unix: true}); status != http.StatusNotFound || !strings.Contains(string(body), "a/b") {
		t.Errorf("a rule that is not there: %d %s", status, body)
	}
}

func TestTopAndStatus(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	s.mustBlock(t, "203.0.113.1/32", "site", "n1")
	s.mustBlock(t, "203.0.113.2/32", "site", "n1")
	c := s.overUnix(t)
	top, err := c.Top(t.Context(), 1)
	if err != nil || len(top.Keys) != 1 || len(top.Newest) != 1 || top.Newest[0].Prefix.String() != "203.0.113.2/32" {
		t.Errorf("%+v, %v", top, err)
	}
	status, err := c.Status(t.Context())
	if err != nil || status.V4 != 2 || !status.Ready {
		t.Errorf("%+v, %v", status, err)
	}
}

// Of the newest blocks only those that stand are shown, each once and as it
// stands now.
func TestTopShowsWhatStands(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{})
	for i, prefix := range []string{"203.0.113.1/32", "203.0.113.2/32", "203.0.113.3/32", "203.0.113.1/32"} {
		since := start.Add(time.Duration(i-4) * time.Second)
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "site", Origin: "n1", Since: since, Until: since.Add(time.Hour)}
		if _, _, err := n.list.Add(b, true, start); err != nil {
			t.Fatal(err)
		}
	}
	ended := edgeguard.Block{Prefix: netip.MustParsePrefix("203.0.113.4/32"), Rule: "site", Since: start.Add(-time.Hour), Until: start.Add(-time.Minute)}
	s.events.Block(ended.Since, ended, nil, false)
	s.list.Lift(netip.MustParsePrefix("203.0.113.3/32"), start, "mistake", "n1")
	top, err := s.overUnix(t).Top(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range top.Newest {
		got = append(got, b.Prefix.String())
	}
	if want := []string{"203.0.113.1/32", "203.0.113.2/32"}; !slices.Equal(got, want) {
		t.Errorf("newest blocks %v, want %v", got, want)
	}
}

func TestHealthAndReady(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{TokenFile: tokenFile(t, secret)})
	for ready, want := range map[bool]int{true: 200, false: 503} {
		n.mu.Lock()
		n.stats.Ready = ready
		n.stats.Judge([]admin.Alarm{admin.NewAlarm("log", admin.PartLogs, "accesslog /var/log/secret.log: permission denied", start, true, false)})
		n.mu.Unlock()
		status, body := s.ask(t, request{method: "GET", path: "/readyz"})
		if status != want || strings.Contains(string(body), "secret") {
			t.Errorf("ready %v: %d %s", ready, status, body)
		}
		if status, _ := s.ask(t, request{method: "GET", path: "/healthz"}); status != 200 {
			t.Errorf("ready %v: healthz %d", ready, status)
		}
	}
}

func TestReload(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{})
	if status, _ := s.write(t, "POST", "/api/v1/reload", ""); status != http.StatusOK || n.reloads != 1 || s.lastAudit().Action != "reload" {
		t.Errorf("%d, %d reloads, audit %+v", status, n.reloads, s.lastAudit())
	}
	n.reload = errors.New("line 3: rules[0].threshold: wants a number")
	if status, _ := s.write(t, "POST", "/api/v1/reload", ""); status != http.StatusUnprocessableEntity || !strings.Contains(s.lastAudit().Result, "line 3") {
		t.Errorf("%d, audit %+v", status, s.lastAudit())
	}
}

// Every wrong input is answered with a status, a field and nothing changed.
func TestBadInput(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	s.mustBlock(t, "203.0.113.1/32", "site", "n1")
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		method, path, body string
		status             int
		field              string
	}{
		{"GET", "/api/v1/blocks?limit=0", "", 400, "limit"},
		{"GET", "/api/v1/blocks?limit=1001", "", 400, "limit"},
		{"GET", "/api/v1/blocks?limit=ten", "", 400, "limit"},
		{"GET", "/api/v1/blocks?limit=1&limit=2", "", 400, "limit"},
		{"GET", "/api/v1/blocks?cursor=abc", "", 400, "cursor"},
		{"GET", "/api/v1/blocks?prefix=203.0.113.1/24", "", 400, "prefix"},
		{"GET", "/api/v1/blocks?contains=203.0.113.0/24", "", 400, "contains"},
		{"GET", "/api/v1/blocks?contains=fe80::1%25eth0", "", 400, "contains"},
		{"GET", "/api/v1/blocks?adress=203.0.113.1", "", 400, "adress"},
		{"GET", "/api/v1/blocks?rule=%zz", "", 400, ""},
		{"GET", "/api/v1/blocks/nobody", "", 400, "prefix"},
		{"GET", "/api/v1/blocks/203.0.113.2", "", 404, "prefix"},
		{"GET", "/api/v1/blocks/", "", 400, "prefix"},
		{"GET", "/api/v1/explain/203.0.113", "", 400, "address"},
		{"GET", "/api/v1/explain/203.0.113.01", "", 400, "address"},
		{"GET", "/api/v1/explain/203.0.113.1:80", "", 400, "address"},
		{"GET", "/api/v1/rules/none", "", 404, "name"},
		{"GET", "/api/v1/rules/site?limit=-1", "", 400, "limit"},
		{"GET", "/api/v1/top?n=3", "", 400, "n"},
		{"GET", "/api/v1/events?kind=blocks", "", 400, "kind"},
		{"GET", "/api/v1/nothing", "", 404, ""},
		{"GET", "/", "", 404, ""},
		{"PUT", "/api/v1/blocks", "{}", 405, ""},
		{"DELETE", "/api/v1/blocks", "", 400, "rule"},
		{"GET", "/api/v1/reload", "", 405, ""},
		{"POST", "/api/v1/rules", "{}", 405, ""},
		{"POST", "/api/v1/blocks", "", 400, ""},
		{"POST", "/api/v1/blocks", "[]", 400, ""},
		{"POST", "/api/v1/blocks", "{", 400, ""},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9"} x`, 400, ""},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9"}{}`, 400, ""},
		{"POST", "/api/v1/blocks", `{"prefix":7}`, 400, "prefix"},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9","fro":"1h"}`, 400, "fro"},
		{"POST", "/api/v1/blocks", `{"prefix":""}`, 400, "prefix"},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9/24"}`, 400, "prefix"},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9/33"}`, 400, "prefix"},
		{"POST", "/api/v1/blocks", `{"prefix":"::ffff:0:0/95"}`, 400, "prefix"},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9;reboot"}`, 400, "prefix"},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9","for":"soon"}`, 400, "for"},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9","for":"-1h"}`, 400, "for"},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9","for":"0s"}`, 400, "for"},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9","for":"90000h"}`, 400, "for"},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9","until":"2026-03-01T12:00:00Z"}`, 400, "until"},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9","until":"2099-01-01T00:00:00Z"}`, 400, "until"},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9","until":"tomorrow"}`, 400, ""},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9","for":"1h","until":"2026-03-01T13:00:00Z"}`, 400, "until"},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9","reason":"a\nb"}`, 400, "reason"},
		{"POST", "/api/v1/blocks", `{"prefix":"203.0.113.9","reason":"` + long + `"}`, 400, "reason"},
		{"POST", "/api/v1/blocks", `{"reason":"` + strings.Repeat("x", 65<<10) + `"}`, 413, ""},
		{"PATCH", "/api/v1/blocks/203.0.113.1", `{}`, 400, "for"},
		{"PATCH", "/api/v1/blocks/203.0.113.2", `{"for":"1h"}`, 404, "prefix"},
		{"PATCH", "/api/v1/blocks/203.0.113.1", `{"for":"1h","reason":"\u0000"}`, 400, "reason"},
		{"DELETE", "/api/v1/blocks/203.0.113.2", "", 404, "prefix"},
		{"DELETE", "/api/v1/blocks/203.0.113.1?because=x", "", 400, "because"},
		{"DELETE", "/api/v1/blocks/203.0.113.1?reason=%0a", "", 400, "reason"},
		{"DELETE", "/api/v1/blocks/203.0.113.0/24", "", 404, "prefix"},
	} {
		status, p := s.write(t, c.method, c.path, c.body)
		if status != c.status || p.Field != c.field {
			t.Errorf("%s %s %.60s: %d, field %q (%s); want %d, %q", c.method, c.path, c.body, status, p.Field, p.Detail, c.status, c.field)
		}
	}
	if got := decode[admin.BlockPage](t, s, "/api/v1/blocks"); len(got.Blocks) != 1 || !got.Blocks[0].Until.Equal(start.Add(3600e9)) {
		t.Errorf("something changed: %+v", got)
	}
}
