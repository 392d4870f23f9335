package admin

import "time"

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
type (
	formerTables struct {
		Squeezed uint64 `json:"squeezed"`
	}
	formerFleet struct {
		Mend    string `json:"mend,omitempty"`
		Offered uint64 `json:"offered"`
		Wholes  uint64 `json:"wholes_asked"`
		Poison  uint64 `json:"poison"`
		Unkept  uint64 `json:"held_unkept"`
	}
	formerNode struct {
		Heard time.Time `json:"heard,omitzero"`
	}
)

// BothNames sets each field that has a former name under both names, whichever
// of the two is set. A server calls it on what it sends, so that older clients
// find the names they know; a client on what an older server sent.
func (s *Stats) BothNames() {
	both(&s.Tables.Undercounted, &s.Tables.Squeezed)
	if s.Fleet != nil {
		fleet := *s.Fleet
		fleet.BothNames()
		s.Fleet = &fleet
	}
}

// BothNames is as of [Stats].
func (f *Fleet) BothNames() {
	both(&f.Fix, &f.Mend)
	both(&f.Reconciled, &f.Offered)
	both(&f.FullPushes, &f.Wholes)
	both(&f.Rejected, &f.Poison)
	both(&f.NotRecorded, &f.Unkept)
}

// BothNames is as of [Stats].
func (d *FleetDetail) BothNames() {
	d.Fleet.BothNames()
	for i := range d.Nodes {
		both(&d.Nodes[i].LastSeen, &d.Nodes[i].Heard)
	}
}

// both sets two names to one value.
func both[T comparable](name, former *T) {
	var none T
	if *name == none {
		*name = *former
	}
	*former = *name
}
