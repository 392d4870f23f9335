package server_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/server"
)

// withHeld is a node on which n blocks wait.
func withHeld(n int) *node {
	node := newNode()
	for i := range uint32(n) {
		node.held = append(node.held, admin.HeldBlock{
			Block: admin.Block{Prefix: numbered(i), Rule: "site", Origin: "n2", Since: start, Until: start.Add(time.Hour)},
			Share: 0.25, Held: start,
		})
	}
	return node
}

func TestHeldPages(t *testing.T) {
	for _, n := range []int{0, 1, 999, 1000, 1001, 2500} {
		s := serve(t, withHeld(n), server.Config{})
		seen := 0
		for b, err := range s.overUnix(t).Held(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if b.Prefix != numbered(uint32(seen)) || b.Share != 0.25 || b.Origin != "n2" || !b.Held.Equal(start) {
				t.Fatalf("place %d: %+v", seen, b)
			}
			seen++
		}
		if seen != n {
			t.Errorf("%d of %d are listed", seen, n)
		}
	}
}

func TestHeldConfirm(t *testing.T) {
	s := serve(t, withHeld(5), server.Config{})
	client := s.overUnix(t)
	done, err := client.Confirm(t.Context(), admin.ConfirmRequest{Prefixes: []string{"20.0.0.1", "20.0.0.3/32"}})
	if err != nil || done.Confirmed != 2 || len(s.held) != 3 {
		t.Fatalf("%+v, %v; %d wait", done, err, len(s.held))
	}
	if _, ok := s.list.Find(start, netip.MustParseAddr("20.0.0.3")); ok == nil {
		t.Error("what was confirmed is not in force")
	}
	if a := s.lastAudit(); a.Action != "confirm" || len(a.Prefixes) != 2 || a.Undo != "edgeguard blocks remove 20.0.0.1/32 20.0.0.3/32" || a.Result != "ok" {
		t.Errorf("audit: %+v", a)
	}
	for body, want := range map[string]string{
		`{}`:                                   "400 prefixes: exactly one of prefixes and all is required",
		`{"all":true,"prefixes":["::1"]}`:      "400 prefixes: exactly one of prefixes and all is required",
		`{"prefixes":["x"]}`:                   `400 prefixes: "x" is`,
		`{"prefixes":["20.0.0.0/8x"]}`:         "400 prefixes:",
		`{"prefixes":["20.0.0.1"]}`:            "404 prefixes: 20.0.0.1/32 does not await confirmation; 0 of 1 were confirmed before it",
		`{"prefixes":["20.0.0.2","20.0.0.1"]}`: "404 prefixes: 20.0.0.1/32 does not await confirmation; 1 of 2 were confirmed before it",
		`{"of":1}`:                             "400 of:",
	} {
		status, p := s.write(t, http.MethodPost, "/api/v1/held/confirm", body)
		if got := fmt.Sprintf("%d %s", status, p.Error()); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\nwant %s", body, got, want)
		}
		if a := s.lastAudit(); a.Action != "confirm" || a.Result == "ok" {
			t.Errorf("%s: audit: %+v", body, a)
		}
	}
	if done, err := client.Confirm(t.Context(), admin.ConfirmRequest{All: true}); err != nil || done.Confirmed != 2 || len(s.held) != 0 {
		t.Errorf("all: %+v, %v", done, err)
	}
}

func TestHeldIsTakenBack(t *testing.T) {
	s := serve(t, withHeld(2), server.Config{})
	status, p := s.write(t, http.MethodPatch, "/api/v1/blocks/20.0.0.1", `{"for":"1h"}`)
	if status != http.StatusNotFound || !strings.Contains(p.Error(), "the block of 20.0.0.1/32 is not in force: it awaits confirmation; confirm or remove it") {
		t.Errorf("%d %s", status, p.Error())
	}
	if b, err := s.overUnix(t).Unblock(t.Context(), "20.0.0.1", "forged"); err != nil || b.Reason != "forged" || len(s.held) != 1 {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := s.overUnix(t).Unblock(t.Context(), "20.0.0.1", "forged"); err == nil {
		t.Error("taken back twice")
	}
}

// A block by hand that would refuse much of the traffic requires force.
func TestBlockOfACrowd(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	const want = "prefix: 198.18.0.0/16 would refuse 41 % of the last 5 minutes' requests here, more than the limit of 20 %; use force if this is intended"
	_, err := s.overUnix(t).Block(t.Context(), admin.BlockRequest{Prefix: crowded.String()})
	if p := asProblem(t, err); p.Status != http.StatusConflict || p.Error() != want {
		t.Errorf("%v", err)
	}
	if _, err := s.overUnix(t).Block(t.Context(), admin.BlockRequest{Prefix: crowded.String(), Force: true}); err != nil {
		t.Error(err)
	}
}
