package server_test

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
	"edgeguard/admin/server"
)

// status returns that of a problem, 0 for none.
func status(err error) int {
	var p *call.Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}

// An owner's block is listed as such; it lifts its own block and clears no counts.
func TestOwnedBlocks(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{})
	c := s.overUnix(t)
	n.mustBlock(t, "203.0.113.2/32", "site", "n1")
	byHand, err := c.Block(t.Context(), admin.BlockRequest{Prefix: "203.0.113.3", For: "1m"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Block(t.Context(), admin.BlockRequest{Prefix: "203.0.113.1", For: "10m", Reason: "note", Owner: "fail2ban"})
	if err != nil || made.Owner != "fail2ban" || made.Reason != "note" {
		t.Fatalf("%+v, %v", made, err)
	}
	if stays, err := c.Block(t.Context(), admin.BlockRequest{Prefix: "203.0.113.3", For: "10m", Owner: "fail2ban"}); err != nil || stays.Owner != "" || stays.Until != byHand.Until {
		t.Errorf("over an operator's: %+v, %v", stays, err)
	}
	if got := collect(t, c.Blocks(t.Context(), client.Filter{Owner: "fail2ban"})); len(got) != 1 || got[0] != "203.0.113.1/32" {
		t.Errorf("listed: %v", got)
	}
	for prefix, want := range map[string]int{"203.0.113.2": http.StatusConflict, "203.0.113.3": http.StatusConflict, "203.0.113.4": http.StatusNotFound, "x": http.StatusBadRequest} {
		if _, err := c.UnblockOwned(t.Context(), prefix, "fail2ban", ""); status(err) != want {
			t.Errorf("%s: %v, want %d", prefix, err, want)
		}
	}
	if _, err := c.UnblockOwned(t.Context(), "203.0.113.1", "other", ""); status(err) != http.StatusConflict {
		t.Errorf("another owner: %v", err)
	}
	if lifted, err := c.UnblockOwned(t.Context(), "203.0.113.1", "fail2ban", ""); err != nil || lifted.Reason != "lifted by fail2ban" {
		t.Errorf("%+v, %v", lifted, err)
	}
	if len(n.cleared) != 0 {
		t.Errorf("counts were cleared: %v", n.cleared)
	}
	if n.list.BlockOf(start, netip.MustParsePrefix("203.0.113.2/32")) == nil || n.list.BlockOf(start, netip.MustParsePrefix("203.0.113.3/32")) == nil {
		t.Error("a rule's or an operator's block is gone")
	}
}

// An owner can neither force nor have a name that a log or a shell would trip over.
func TestOwnersAreBounded(t *testing.T) {
	c := serve(t, newNode(), server.Config{}).overUnix(t)
	for name, r := range map[string]admin.BlockRequest{
		"force":     {Owner: "fail2ban", Force: true},
		"a space":   {Owner: "a b"},
		"too long":  {Owner: strings.Repeat("a", 33)},
		"a command": {Owner: "$(id)"},
	} {
		r.Prefix = "203.0.113.1"
		if _, err := c.Block(t.Context(), r); status(err) != http.StatusBadRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Block(t.Context(), admin.BlockRequest{Prefix: crowded.String(), Owner: "fail2ban"}); status(err) != http.StatusConflict {
		t.Errorf("what refuses too much: %v", err)
	}
	for _, query := range []string{"owner=a+b", "owner=a&rule=site"} {
		if got, _ := serve(t, newNode(), server.Config{}).ask(t, request{path: "/api/v1/blocks?" + query}); got != http.StatusBadRequest {
			t.Errorf("%s: %d", query, got)
		}
	}
}
