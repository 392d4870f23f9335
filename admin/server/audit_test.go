package server_test

import (
	"fmt"
	"slices"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/server"
)

// Manual actions are read page by page, the newest first, each
// once.
func TestAudit(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	if page := decode[admin.AuditPage](t, s, "/api/v1/audit"); page.Audit == nil || len(page.Audit) > 0 || page.Next != "" {
		t.Fatalf("before the first: %+v", page)
	}
	for _, actions := range []int{1, 6, 993, 5} {
		for range actions {
			s.write(t, "POST", "/api/v1/reload", "")
		}
		s.write(t, "DELETE", "/api/v1/blocks/203.0.113.7?reason=last", "") // fails, and is audited
		path, got := "/api/v1/audit?limit=300", []admin.Audit(nil)
		for {
			page := decode[admin.AuditPage](t, s, path)
			if got = append(got, page.Audit...); page.Next == "" {
				break
			}
			path = "/api/v1/audit?limit=300&cursor=" + page.Next
		}
		all := s.allAudits()
		slices.Reverse(all)
		if !slices.EqualFunc(got, all, func(a, b admin.Audit) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
			t.Fatalf("after %d more: %d are read, want %d; the newest are %+v and %+v", actions, len(got), len(all), got[0], all[0])
		}
		if got[0].Action != "unblock" || got[0].Target != "203.0.113.7" || got[0].Result == "ok" || got[0].Who == "" {
			t.Errorf("the newest: %+v", got[0])
		}
	}
	if status, _ := s.ask(t, request{method: "GET", path: "/api/v1/audit"}); status != 403 {
		t.Errorf("without a login: %d", status)
	}
}
