package fleetstate

import "time"

// The fields of an answer under their names of the version before. They are kept for
// one release.
type (
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

// BothNames sets each field that has a former name under both names, whichever of
// the two is set.
func (f *Fleet) BothNames() {
	Both(&f.Fix, &f.Mend)
	Both(&f.Reconciled, &f.Offered)
	Both(&f.FullPushes, &f.Wholes)
	Both(&f.Rejected, &f.Poison)
	Both(&f.NotRecorded, &f.Unkept)
}

// BothNames is as of [Fleet].
func (d *FleetDetail) BothNames() {
	d.Fleet.BothNames()
	for i := range d.Nodes {
		Both(&d.Nodes[i].LastSeen, &d.Nodes[i].Heard)
	}
}

// Both sets two names to one value.
func Both[T comparable](name, former *T) {
	var none T
	if *name == none {
		*name = *former
	}
	*former = *name
}
