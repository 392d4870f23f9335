package server_test

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edgeguard/admin"
	"edgeguard/admin/server"
)

func TestAllowDisallow(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	c := s.overUnix(t)
	made, err := c.Allow(t.Context(), admin.AllowRequest{Prefix: "203.0.113.0/24", For: "30d", Reason: "office"})
	want := admin.Allowance{
		Prefix: netip.MustParsePrefix("203.0.113.0/24"), Source: "operator", Reason: "office", Origin: "n1",
		Since: start, Until: start.Add(30 * 24 * time.Hour),
	}
	if err != nil || made != want {
		t.Fatalf("got %+v, %v; want %+v", made, err, want)
	}
	audit := s.lastAudit()
	audit.Who, audit.User = "", ""
	if diff := cmp.Diff(admin.Audit{Role: "operator", Way: "socket", Action: "allow", Target: "203.0.113.0/24", Detail: "until 2026-03-31T12:00:00Z, reason: office", Result: "ok", Undo: "edgeguard allow remove 203.0.113.0/24"}, audit); diff != "" {
		t.Error(diff)
	}
	forEver, err := c.Allow(t.Context(), admin.AllowRequest{Prefix: "2001:db8::7"})
	if err != nil || !forEver.Until.IsZero() || s.lastAudit().Detail != "without end" {
		t.Errorf("%+v, %v, %+v", forEver, err, s.lastAudit())
	}
	all, err := c.Allowances(t.Context())
	config := admin.Allowance{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Source: "config"}
	if err != nil || !slices.Equal(all, []admin.Allowance{config, made, forEver}) {
		t.Errorf("listed %+v, %v", all, err)
	}

	_, err = c.Block(t.Context(), admin.BlockRequest{Prefix: "203.0.113.7", Force: true})
	if p := asProblem(t, err); p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Detail, "203.0.113.0/24") || !strings.Contains(p.Fix, "allow remove") {
		t.Errorf("a block inside an allowance: %v", err)
	}
	_, err = c.Disallow(t.Context(), "203.0.113.7", "")
	if p := asProblem(t, err); p.Status != http.StatusNotFound || !strings.Contains(p.Fix, "203.0.113.0/24") {
		t.Errorf("one address of an allowed network: %v", err)
	}
	lifted, err := c.Disallow(t.Context(), "203.0.113.0/24", "moved out")
	if err != nil || lifted.Reason != "moved out" || s.lastAudit().Action != "disallow" {
		t.Errorf("taken back %+v, %v", lifted, err)
	}
	_, err = c.Disallow(t.Context(), "203.0.113.0/24", "")
	if p := asProblem(t, err); p.Status != http.StatusNotFound || s.lastAudit().Result != p.Error() {
		t.Errorf("taken back twice: %v, audited %+v", err, s.lastAudit())
	}
	if s.cleared != nil {
		t.Errorf("counts of %v were cleared", s.cleared)
	}
}

func TestAllowRefuses(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	if status, p := s.write(t, "POST", "/api/v1/allow", `{"prefix":"203.0.113.7","for":"48h"}`); status != http.StatusCreated {
		t.Fatal(p)
	}
	for _, tc := range []struct {
		method, path, body string
		status             int
		field, words       string
	}{
		{"POST", "", `{}`, 400, "prefix", "not an address"},
		{"POST", "", `{"prefix":"203.0.113.7/24"}`, 400, "prefix", "host bits"},
		{"POST", "", `{"prefix":"203.0.113.8","for":"x"}`, 400, "for", "30d"},
		{"POST", "", `{"prefix":"203.0.113.8","for":"d"}`, 400, "for", "not a duration"},
		{"POST", "", `{"prefix":"203.0.113.8","for":"1.5d"}`, 400, "for", "not a duration"},
		{"POST", "", `{"prefix":"203.0.113.8","for":"0d"}`, 400, "for", "not between"},
		{"POST", "", `{"prefix":"203.0.113.8","for":"3651d"}`, 400, "for", "3650d"},
		{"POST", "", `{"prefix":"203.0.113.8","for":"99999999d"}`, 400, "for", "not a duration"},
		{"POST", "", `{"prefix":"203.0.113.8","until":"2026-02-28T12:00:00Z"}`, 400, "until", "next ten years"},
		{"POST", "", `{"prefix":"203.0.113.8","reason":"a\nb"}`, 400, "reason", "control"},
		{"POST", "", `{"prefix":"203.0.113.8","why":"?"}`, 400, "why", "unknown field"},
		{"POST", "", `{"prefix":"203.0.113.7","for":"24h"}`, 409, "prefix", "already"},
		{"POST", "", `{"prefix":"20.0.0.0/15"}`, 422, "prefix", "force"},
		{"POST", "", `{"prefix":"0.0.0.0/0"}`, 422, "prefix", "force"},
		{"DELETE", "/192.0.2.0/24", ``, 409, "prefix", "edit the config and reload"},
		{"DELETE", "/192.0.2.77", ``, 409, "prefix", "192.0.2.0/24"},
		{"DELETE", "/203.0.113.8", ``, 404, "prefix", "not allowed"},
		{"DELETE", "/203.0.113.7?why=x", ``, 400, "why", "parameter"},
		{"DELETE", "/x", ``, 400, "prefix", "not an address"},
	} {
		status, p := s.write(t, tc.method, "/api/v1/allow"+tc.path, tc.body)
		if status != tc.status || p.Field != tc.field || !strings.Contains(p.Error(), tc.words) {
			t.Errorf("%s %s %s: %d %+v, want %d, %s, %q", tc.method, tc.path, tc.body, status, p, tc.status, tc.field, tc.words)
		}
		if got := s.lastAudit().Result; got != p.Error() {
			t.Errorf("%s %s %s: audited as %q", tc.method, tc.path, tc.body, got)
		}
	}
	for _, body := range []string{`{"prefix":"203.0.113.7"}`, `{"prefix":"20.0.0.0/15","force":true}`, `{"prefix":"::/0","force":true}`} {
		if status, p := s.write(t, "POST", "/api/v1/allow", body); status != http.StatusCreated {
			t.Errorf("%s: %d %+v", body, status, p)
		}
	}
}

// Allowances are told as events of their own and count as no block.
func TestAllowanceEvents(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	c := s.overUnix(t)
	if _, err := c.Allow(t.Context(), admin.AllowRequest{Prefix: "203.0.113.7"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Disallow(t.Context(), "203.0.113.7", "over"); err != nil {
		t.Fatal(err)
	}
	s.mustBlock(t, "203.0.113.7/32", "site", "n1")
	history := decode[admin.Explanation](t, s, "/api/v1/explain/203.0.113.7").History
	var kinds []string
	for _, e := range history {
		kinds = append(kinds, e.Kind)
		if (e.Allowance == nil) == (e.Block == nil) {
			t.Errorf("%+v", e)
		}
	}
	if !slices.Equal(kinds, []string{"block", "disallow", "allow"}) {
		t.Errorf("history %v", kinds)
	}
	if body := string(s.metrics(t)); !strings.Contains(body, "edgeguard_allowances 0\n") || !strings.Contains(body, "edgeguard_unblocks_total{reason=\"manual\"} 0\n") || !strings.Contains(body, "edgeguard_unblocks_total{reason=\"fleet\"} 0\n") {
		t.Error("an allowance counts among the blocks")
	}
	page := decode[admin.BlockPage](t, s, "/api/v1/blocks")
	if len(page.Blocks) != 1 {
		t.Errorf("%+v", page)
	}
	for e, err := range s.stream(t.Context(), "0", admin.EventDisallow) {
		if err != nil || e.Kind != admin.EventDisallow || e.Allowance.Reason != "over" {
			t.Errorf("%+v, %v", e, err)
		}
		break
	}
}
