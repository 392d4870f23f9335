package server_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/server"
)

func TestFleet(t *testing.T) {
	n, _ := full(t)
	n.nodes = []admin.FleetNode{
		{Name: "n1", Version: "1.2", Boot: "0011", Started: start, LastSeen: start, Alive: true, Ahead: 0.001, PushLag: 0.25, List: 7, Digest: "abcd",
			Figures: &admin.FleetFigures{Age: 1.5, Signed: true, Blocks: 3, Refused: 2.5, Memory: 0.25, Alarms: 1, Rules: "0123456789abcdef"}},
		{Name: "n2", Boot: "0022", Started: start, LastSeen: start, Monitor: true},
	}
	s := serve(t, n, server.Config{})
	got := decode[admin.FleetDetail](t, s, "/api/v1/fleet")
	want := admin.FleetDetail{Fleet: *n.stats.Fleet, Nodes: n.nodes}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if _, body := s.ask(t, request{method: "GET", path: "/api/v1/fleet", unix: true}); !strings.Contains(string(body), `"figures":null`) {
		t.Errorf("figures that are not known are not null: %s", body)
	}
	status, err := s.overUnix(t).Status(t.Context())
	if err != nil || !reflect.DeepEqual(status.Fleet, n.stats.Fleet) {
		t.Errorf("in the status: %+v, %v", status.Fleet, err)
	}
}

// A node alone has no fleet in any of its answers.
func TestNoFleet(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	if status, body := s.ask(t, request{method: "GET", path: "/api/v1/fleet", unix: true}); status != http.StatusNotFound || !strings.Contains(string(body), `"fix"`) {
		t.Errorf("%d %s", status, body)
	}
	if body := string(s.metrics(t)); strings.Contains(body, "edgeguard_fleet") || strings.Contains(body, "edgeguard_redis") {
		t.Error("a node alone has metrics of a fleet")
	}
	if _, body := s.ask(t, request{method: "GET", path: "/api/v1/status", unix: true}); strings.Contains(string(body), `"fleet"`) {
		t.Errorf("%s", body)
	}
}

// Every degraded node names a reason, in words that name no address.
func TestReadyNamesAReason(t *testing.T) {
	n, _ := full(t)
	s := serve(t, n, server.Config{TokenFile: tokenFile(t, secret)})
	for _, test := range []struct {
		ready, up bool
		kinds     []string
		want      string
	}{
		{true, true, nil, `{"ready":true,"degraded":false}`},
		{true, true, []string{"state"}, `{"ready":true,"degraded":true,"reason":"alarms: state"}`},
		{true, true, []string{"state", "log", "log", "fleet_held"}, `{"ready":true,"degraded":true,"reason":"alarms: fleet_held, log, state"}`},
		{true, false, []string{"fleet"}, `{"ready":true,"degraded":true,"reason":"fleet: unreachable"}`},
		{false, true, nil, `{"ready":false,"degraded":false,"reason":"starting or ending"}`},
		{false, true, []string{"listen"}, `{"ready":false,"degraded":true,"reason":"alarms: listen"}`},
	} {
		n.mu.Lock()
		n.stats.Ready, n.stats.Fleet.Up = test.ready, test.up
		var alarms []admin.Alarm
		for _, kind := range test.kinds {
			alarms = append(alarms, admin.NewAlarm(kind, admin.PartState, "a secret", start, false, false))
		}
		n.stats.Judge(alarms)
		n.mu.Unlock()
		if _, body := s.ask(t, request{method: "GET", path: "/readyz"}); strings.TrimSpace(string(body)) != test.want {
			t.Errorf("%+v: %s", test, body)
		}
	}
}

// A node whose Redis is away stays ready and says so to anybody, in a word that
// names no address.
func TestReadyWithoutRedis(t *testing.T) {
	n, _ := full(t)
	n.stats.Judge(nil)
	s := serve(t, n, server.Config{TokenFile: tokenFile(t, secret)})
	for up, want := range map[bool]string{
		false: `{"ready":true,"degraded":true,"reason":"fleet: unreachable"}`,
		true:  `{"ready":true,"degraded":false}`,
	} {
		n.mu.Lock()
		n.stats.Fleet.Up = up
		n.mu.Unlock()
		status, body := s.ask(t, request{method: "GET", path: "/readyz"})
		if got := strings.TrimSpace(string(body)); status != 200 || got != want {
			t.Errorf("up %v: %d %s", up, status, got)
		}
		if status, body := s.ask(t, request{method: "GET", path: "/healthz"}); status != 200 || strings.TrimSpace(string(body)) != `{"ok":true}` {
			t.Errorf("up %v: healthz %d %s", up, status, body)
		}
	}
}
