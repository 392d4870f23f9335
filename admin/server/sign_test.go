package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/server"
)

// A node signs only where that is asked for, and the audit says so only then.
func TestSign(t *testing.T) {
	n := withHeld(0)
	n.unsigned = 3
	s := serve(t, n, server.Config{})
	client := s.overUnix(t)
	for i, want := range []admin.Signed{{Records: 7, Unsigned: 3}, {Records: 7, Unsigned: 3}, {Records: 7}} {
		got, err := client.Sign(t.Context(), admin.SignRequest{Yes: i == 1})
		if err != nil || got != want {
			t.Fatalf("%d: %+v, %v, want %+v", i, got, err, want)
		}
	}
	if a := s.lastAudit(); a.Action != "sign" || a.Detail != "7 records, 3 of them unsigned" || a.Result != "ok" {
		t.Errorf("audit: %+v", a)
	}
	n.keyless = true
	status, p := s.write(t, http.MethodPost, "/api/v1/fleet/sign", `{"yes":true}`)
	if got := fmt.Sprintf("%d %s", status, p.Error()); !strings.HasPrefix(got, "409 this node has no fleet key") {
		t.Errorf("a node without a key: %s", got)
	}
	if a := s.lastAudit(); a.Action != "sign" || a.Result == "ok" {
		t.Errorf("audit: %+v", a)
	}
}
