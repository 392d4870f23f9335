package admin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/fleetstate"
)

// Each renamed field is sent under both names with one value, and each renamed
// metric is there twice, the former one marked as deprecated.
func TestFormerNames(t *testing.T) {
	n, c := full(t)
	n.stats.Tables.Undercounted = 15
	n.nodes = []fleetstate.FleetNode{{Name: "n1", LastSeen: start}}
	n.events.Alarm(edgeguard.Alarm{Time: start, Kind: "fleet_rejected"})
	n.events.Alarm(edgeguard.Alarm{Time: start, Kind: "fleet_duplicate_name"})
	s := serve(t, n, c)

	fleet := [][2]string{{"fix", "mend"}, {"reconciled", "offered"}, {"full_pushes_requested", "wholes_asked"}, {"rejected", "poison"}, {"held_not_recorded", "held_unkept"}}
	for _, answer := range []struct {
		path  string
		at    []string // keys on the way to the object
		names [][2]string
	}{
		{"/api/v1/blocks?limit=x", nil, [][2]string{{"fix", "mend"}}},
		{"/api/v1/status", []string{"tables"}, [][2]string{{"undercounted", "squeezed"}}},
		{"/api/v1/status", []string{"fleet"}, fleet},
		{"/api/v1/fleet", nil, fleet},
		{"/api/v1/fleet", []string{"nodes"}, [][2]string{{"last_seen", "heard"}}},
	} {
		_, body := s.ask(t, request{method: "GET", path: answer.path, unix: true})
		var object map[string]any
		if err := json.Unmarshal(body, &object); err != nil {
			t.Fatalf("%s: %v", answer.path, err)
		}
		for _, key := range answer.at {
			if list, ok := object[key].([]any); ok {
				object = list[0].(map[string]any)
			} else {
				object = object[key].(map[string]any)
			}
		}
		for _, names := range answer.names {
			if value := object[names[0]]; value == nil || value != object[names[1]] {
				t.Errorf("%s %v: %q is %v, %q is %v", answer.path, answer.at, names[0], value, names[1], object[names[1]])
			}
		}
	}

	metrics := string(s.metrics(t))
	for _, want := range []string{
		"edgeguard_undercounted_counts_total 15", "edgeguard_squeezed_counts_total 15",
		"edgeguard_fleet_reconciled_total 14", "edgeguard_fleet_offered_total 14",
		"edgeguard_fleet_full_pushes_total 6", "edgeguard_fleet_wholes_total 6",
		`edgeguard_fleet_records_total{way="rejected"} 1`, `edgeguard_fleet_records_total{way="poison"} 1`,
		`edgeguard_held_blocks_total{result="not_recorded"} 3`, `edgeguard_held_blocks_total{result="unkept"} 3`,
		`edgeguard_alarms_total{kind="fleet_rejected"} 1`, `edgeguard_alarms_total{kind="fleet_poison"} 1`,
		`edgeguard_alarms_total{kind="fleet_duplicate_name"} 1`, `edgeguard_alarms_total{kind="fleet_twins"} 1`,
		"# HELP edgeguard_squeezed_counts_total Deprecated: renamed to edgeguard_undercounted_counts_total.",
		"# HELP edgeguard_fleet_offered_total Deprecated: renamed to edgeguard_fleet_reconciled_total.",
		"# HELP edgeguard_fleet_wholes_total Deprecated: renamed to edgeguard_fleet_full_pushes_total.",
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no metric %s", want)
		}
	}
}

// A renamed alarm says in the event stream what it was called.
func TestFormerAlarm(t *testing.T) {
	s := serve(t, newNode(), admin.Config{})
	events := make(chan []admin.Event, 1)
	go func() {
		got, _ := take(t, t.Context(), s, 3, "", admin.EventAlarm)
		events <- got
	}()
	s.listening(t, 1)
	was := []string{"fleet_poison", "fleet_twins", ""}
	for _, kind := range []string{"fleet_rejected", "fleet_duplicate_name", "fleet_held"} {
		s.events.Alarm(edgeguard.Alarm{Time: start, Kind: kind})
	}
	for i, event := range <-events {
		if event.Was != was[i] {
			t.Errorf("%s was %q, want %q", event.Name, event.Was, was[i])
		}
	}
}
