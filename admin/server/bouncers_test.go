package server_test

import (
	"net/http"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/server"
)

// keyring is the bouncers of a node that is not one.
type keyring struct{ names []string }

func (k *keyring) Bouncers() admin.BouncerList {
	s := admin.BouncerList{Listening: []string{}, Bouncers: []admin.Bouncer{}}
	for _, name := range k.names {
		s.Bouncers = append(s.Bouncers, admin.Bouncer{BouncerFigure: admin.BouncerFigure{Name: name}})
	}
	return s
}

func (k *keyring) AddBouncer(r admin.BouncerRequest) (admin.BouncerKey, *call.Problem) {
	k.names = append(k.names, r.Name)
	return admin.BouncerKey{Name: r.Name, Key: "the-secret"}, nil
}

func (k *keyring) RemoveBouncer(name string) *call.Problem {
	if len(k.names) == 0 {
		return call.NewProblem(http.StatusNotFound, "name", name+" has no key", "")
	}
	k.names = nil
	return nil
}

// TestBouncers: an operator makes, lists and removes keys, a reader lists them, and no
// record of it has a key.
func TestBouncers(t *testing.T) {
	n := newNode()
	s := serve(t, n, server.Config{})
	client := s.overUnix(t)
	if added, err := client.AddBouncer(t.Context(), admin.BouncerRequest{Name: "edge1"}); err != nil || added.Key != "the-secret" {
		t.Errorf("%+v, %v", added, err)
	}
	if a := s.lastAudit(); a.Action != "add bouncer" || a.Target != "edge1" || a.Result != "ok" {
		t.Errorf("audit %+v", a)
	}
	if state, err := client.Bouncers(t.Context()); err != nil || len(state.Bouncers) != 1 || state.Bouncers[0].Name != "edge1" {
		t.Errorf("%+v, %v", state, err)
	}
	if removed, err := client.RemoveBouncer(t.Context(), "edge1"); err != nil || removed.Name != "edge1" {
		t.Errorf("%+v, %v", removed, err)
	}
	if a := s.lastAudit(); a.Action != "remove bouncer" || a.Target != "edge1" {
		t.Errorf("audit %+v", a)
	}
	if status, p := s.write(t, http.MethodDelete, "/api/v1/bouncers/edge1", ""); status != http.StatusNotFound || p.Field != "name" {
		t.Errorf("%d %+v", status, p)
	}
	for _, a := range n.allAudits() {
		if strings.Contains(a.Action+a.Target+a.Detail+a.Result, "the-secret") {
			t.Errorf("a record has the key: %+v", a)
		}
	}
}
