package console

import (
	"testing"

	"edgeguard/admin"
)

// The header says that this node enforces only where something is known to go by it, and
// nothing shows the contrary.
func TestState(t *testing.T) {
	list := []admin.Enforcer{{Name: "/geo.conf"}}
	for name, test := range map[string]struct {
		stats admin.Stats
		want  string
	}{
		"a list":          {admin.Stats{Ready: true, Enforcers: list}, "Enforcing."},
		"a proxy asks":    {admin.Stats{Ready: true, Sources: []admin.Source{{Name: "auth 127.0.0.1:9180", Asked: true, Events: 1}}}, "Enforcing."},
		"no way":          {admin.Stats{Ready: true, Sources: []admin.Source{{Name: "auth 127.0.0.1:9180", Asked: true}, {Name: "log /a", Events: 9}}}, "Blocking; no way is known that refuses."},
		"a dry run":       {admin.Stats{Ready: true, Enforcers: []admin.Enforcer{{Name: "nftables edgeguard", DryRun: true}}}, "Blocking; no way is known that refuses."},
		"served":          {admin.Stats{Ready: true, Enforcers: list, Kinds: []string{"enforcer", "blocked_served"}}, "Blocking; a log shows that blocked addresses are served."},
		"nothing refuses": {admin.Stats{Ready: true, Kinds: []string{"nothing_refuses"}}, "Blocking; no way is known that refuses."},
		"monitor":         {admin.Stats{Ready: true, Monitor: true, Enforcers: list}, "Monitor mode."},
		"starting":        {admin.Stats{Enforcers: list}, "Starting: not everything is read or listens yet."},
		"a fleet":         {admin.Stats{Ready: true, Enforcers: list, Fleet: &admin.Fleet{Up: true, Alive: 3}}, "Enforcing. 3 nodes are in the fleet."},
	} {
		if got := state(&test.stats); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
