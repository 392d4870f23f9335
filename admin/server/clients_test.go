package server_test

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/server"
)

// named has the networks of clients of a node that knows no others.
type named struct{ all []admin.Client }

func (n *named) Clients() admin.ClientList { return admin.ClientList{Clients: slices.Clone(n.all)} }

func (n *named) AddClient(prefix netip.Prefix) (admin.Client, *call.Problem) {
	c := admin.Client{Prefix: prefix, Source: admin.AllowedByOperator, Since: start}
	n.all = append(n.all, c)
	return c, nil
}

func (n *named) RemoveClient(prefix netip.Prefix) (admin.Client, *call.Problem) {
	for i, c := range n.all {
		if c.Prefix == prefix {
			n.all = slices.Delete(n.all, i, i+1)
			return c, nil
		}
	}
	return admin.Client{}, call.NewProblem(http.StatusNotFound, "prefix", "is not named", "")
}

// An operator names a network, lists it and takes it back; each change is audited with its reason,
// also one that cannot be read, or that fails.
func TestClients(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{})
	c := s.overUnix(t)
	audited := func(action, target, detail, result string) {
		t.Helper()
		if a := s.lastAudit(); a.Action != action || a.Target != target || a.Detail != detail || !strings.HasPrefix(a.Result, result) {
			t.Errorf("audit %+v", a)
		}
	}
	made, err := c.AddClient(t.Context(), admin.ClientRequest{Prefix: "10.0.0.7", Reason: "a desk"})
	want := admin.Client{Prefix: netip.MustParsePrefix("10.0.0.7/32"), Source: "operator", Since: start}
	if err != nil || made != want {
		t.Errorf("made %+v, %v", made, err)
	}
	audited("add client", "10.0.0.7", "a desk", "ok")
	if all, err := c.Clients(t.Context()); err != nil || !slices.Equal(all, []admin.Client{want}) {
		t.Errorf("listed %+v, %v", all, err)
	}
	for _, request := range []admin.ClientRequest{{}, {Prefix: "10.0.0.7/8"}, {Prefix: "x"}, {Prefix: "10.0.0.0/8", Reason: "two\nlines"}} {
		if _, err := c.AddClient(t.Context(), request); asProblem(t, err).Status != http.StatusBadRequest {
			t.Errorf("%+v: %v", request, err)
		}
		if a := s.lastAudit(); a.Action != "add client" || a.Target != request.Prefix || a.Result == "ok" {
			t.Errorf("%+v: audit %+v", request, a)
		}
	}
	removed, err := c.RemoveClient(t.Context(), "10.0.0.7", "moved")
	if err != nil || removed != want {
		t.Errorf("removed %+v, %v", removed, err)
	}
	audited("remove client", "10.0.0.7", "moved", "ok")
	if _, err := c.RemoveClient(t.Context(), "10.0.0.7", ""); asProblem(t, err).Status != http.StatusNotFound || len(n.all) > 0 {
		t.Errorf("%v, %+v", err, n.all)
	}
}
