package server_test

import (
	"net/http"
	"slices"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/admin/metrics"
	"edgeguard/admin/server"
)

// changesOf returns those of a node as its pages receive them: for clients with a login,
// and for those without.
func changesOf(t *testing.T, n *node) (full, guests *admin.Changes) {
	t.Helper()
	var all []*admin.Changes
	c := server.Config{View: admin.NewView(n, n.events), Operator: n, Audit: n.audit, Metrics: metrics.New(n, n.events, nil)}
	c.Pages = func(_ *admin.View, changes *admin.Changes) map[string]http.Handler {
		all = append(all, changes)
		return nil
	}
	if _, err := server.New(c); err != nil {
		t.Fatal(err)
	}
	return all[0], all[1]
}

// Pages for clients without a login receive nothing that changes the node, and who is no
// operator changes nothing, whatever route led him here.
func TestChangesRequireAnOperator(t *testing.T) {
	n := withHeld(1)
	n.mustBlock(t, "203.0.113.7/32", "site", "n1")
	changes, guests := changesOf(t, n)
	if guests != nil {
		t.Error("pages for guests can change the node")
	}
	for _, role := range []access.Role{access.Stranger, access.Guest, access.Reader} {
		by := access.Caller{Role: role, Who: "mallory"}
		_, block := changes.Block(by, admin.BlockRequest{Prefix: "203.0.113.8"})
		_, extend := changes.Extend(by, "203.0.113.7", admin.ExtendRequest{For: "2h"})
		_, unblock := changes.Unblock(by, "203.0.113.7", "")
		_, allow := changes.Allow(by, admin.AllowRequest{Prefix: "203.0.113.8"})
		_, disallow := changes.Disallow(by, "203.0.113.8", "")
		_, confirm := changes.Confirm(by, admin.ConfirmRequest{All: true})
		_, sign := changes.Sign(by, admin.SignRequest{Yes: true})
		_, count := changes.Sign(by, admin.SignRequest{})
		problems := []*call.Problem{block, extend, unblock, allow, disallow, confirm, sign, count, changes.Reload(t.Context(), by)}
		for i, p := range problems {
			if p == nil || p.Status != http.StatusForbidden {
				t.Errorf("role %d, change %d: %v", role, i, p)
			}
		}
	}
	if n.list.Len() != 1 || len(n.cleared) > 0 || len(n.held) != 1 || n.reloads > 0 {
		t.Errorf("%d blocks, %d cleared, %d held, %d reloads", n.list.Len(), len(n.cleared), len(n.held), n.reloads)
	}
	audits := n.allAudits()
	failed := slices.DeleteFunc(slices.Clone(audits), func(a admin.Audit) bool { return a.Result == "ok" || a.Who != "mallory" })
	if len(audits) != 3*8 || len(failed) != len(audits) {
		t.Errorf("%d audits, %d of them as refused to mallory", len(audits), len(failed))
	}
}
