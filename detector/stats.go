package detector

import (
	"sync/atomic"

	"edgeguard"
)

// Stats tells what a detector has done so far.
type Stats struct {
	Events   uint64 // events decided
	Passed   uint64
	Shadowed uint64
	Denied   uint64
	Spared   uint64 // of the passed: allowed or protected addresses
	Late     uint64 // not counted by a meter: older than its window
	Early    uint64 // from after now, counted at now
}

// counters is Stats as it grows.
type counters struct {
	actions             [edgeguard.ActionBlock + 1]atomic.Uint64
	spared, late, early atomic.Uint64
}

// note counts one decision.
func (s *counters) note(c *decision, action edgeguard.Action) {
	s.actions[action].Add(1)
	if c.spared() {
		s.spared.Add(1)
	}
	if c.late {
		s.late.Add(1)
	}
	if c.early {
		s.early.Add(1)
	}
}

// Stats gives what the detector has done so far. Under concurrent use its
// figures may be a few events apart from each other.
func (d *Detector) Stats() Stats {
	s := Stats{
		Passed:   d.stats.actions[edgeguard.ActionPass].Load(),
		Shadowed: d.stats.actions[edgeguard.ActionShadow].Load(),
		Denied:   d.stats.actions[edgeguard.ActionDeny].Load(),
		Spared:   d.stats.spared.Load(),
		Late:     d.stats.late.Load(),
		Early:    d.stats.early.Load(),
	}
	s.Events = s.Passed + s.Shadowed + s.Denied
	return s
}
