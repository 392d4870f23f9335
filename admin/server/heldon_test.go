package server_test

import (
	"errors"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/server"
)

func TestFleetHeld(t *testing.T) {
	wide, other, third := netip.MustParsePrefix("203.0.0.0/16"), netip.MustParsePrefix("10.0.0.0/12"), netip.MustParsePrefix("2001:db8::/32")
	n, _ := full(t)
	n.others = admin.FleetHeld{Alive: 4, Nodes: []admin.NodeHeld{
		{Name: "n2", State: admin.NodeHolds, Held: 2, Waits: []netip.Prefix{wide, other}},
		{Name: "n3", State: admin.NodeHolds, Held: 9, Waits: []netip.Prefix{other}},
		{Name: "n4", State: admin.NodeSilent},
	}}
	s := serve(t, n, server.Config{})
	got, err := s.overUnix(t).FleetHeld(t.Context())
	if err != nil || !reflect.DeepEqual(got, n.others) {
		t.Errorf("all: %+v, %v", got, err)
	}
	for prefix, want := range map[netip.Prefix]string{
		wide:  "n2 holds n3 more n4 silent",
		other: "n2 holds n3 holds n4 silent",
		third: "n3 more n4 silent",
	} {
		got := decode[admin.FleetHeld](t, s, "/api/v1/fleet/held?prefix="+prefix.String())
		if text := states(got); text != want || got.Alive != 4 {
			t.Errorf("%s: %s, want %s", prefix, text, want)
		}
	}
	if got := decode[admin.FleetHeld](t, s, "/api/v1/fleet/held?prefix=203.0.113.0/24"); got.Nodes == nil {
		t.Error("no list")
	}
}

func states(f admin.FleetHeld) string {
	var out []string
	for _, n := range f.Nodes {
		out = append(out, n.Name, n.State)
	}
	return strings.Join(out, " ")
}

func TestFleetHeldCannotBeAsked(t *testing.T) {
	n, _ := full(t)
	n.cutOff = errors.New("cut off")
	s := serve(t, n, server.Config{})
	for path, want := range map[string]int{
		"/api/v1/fleet/held":                     http.StatusServiceUnavailable,
		"/api/v1/fleet/held?prefix=x":            http.StatusBadRequest,
		"/api/v1/fleet/held?prefix=203.0.0.1/16": http.StatusBadRequest,
		"/api/v1/fleet/held?node=n2":             http.StatusBadRequest,
	} {
		if status, body := s.ask(t, request{method: "GET", path: path, unix: true}); status != want || !strings.Contains(string(body), `"fix"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	alone := serve(t, newNode(), server.Config{})
	if status, body := alone.ask(t, request{method: "GET", path: "/api/v1/fleet/held", unix: true}); status != http.StatusNotFound {
		t.Errorf("a node alone: %d %s", status, body)
	}
}
