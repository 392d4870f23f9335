package admin

import "edgeguard/admin/fleetstate"

// This file holds the names of the version before. They are kept for one
// release. What goes with it says "former" or "deprecated" in this folder.

// formerAlarms maps a kind of alarm to its former name.
var formerAlarms = map[string]string{
	"fleet_rejected":       "fleet_poison",
	"fleet_duplicate_name": "fleet_twins",
}

// FormerAlarm returns the former name of a kind of alarm, or "" if it has none.
func FormerAlarm(kind string) string { return formerAlarms[kind] }

// The fields of an answer under their former names.
type formerTables struct {
	Squeezed uint64 `json:"squeezed"`
}

// BothNames sets each field that has a former name under both names, whichever
// of the two is set. A server calls it on what it sends, so that older clients
// find the names they know; a client on what an older server sent.
func (s *Stats) BothNames() {
	fleetstate.Both(&s.Tables.Undercounted, &s.Tables.Squeezed)
	if s.Fleet != nil {
		fleet := *s.Fleet
		fleet.BothNames()
		s.Fleet = &fleet
	}
}
