package detector

import (
	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/rules"
)

// SetFleetLost sets whether the fleet cannot be reached. While it cannot, a rule
// with on_fleet_loss: open only reports, and one with closed denies every proven
// event that its meter counts, for the reason "fleet lost". Other rules go on with
// the node's own counts. Blocks in force do not change. Detectors that replace one
// another at a reload share the setting.
func (d *Detector) SetFleetLost(lost bool) { d.lost.Store(lost) }

// action is what rule r does about a count over its limit.
func (d *Detector) action(r *rule) edgeguard.Action {
	if r.OnFleetLoss == rules.LossOpen && d.lost.Load() {
		return min(r.Action, edgeguard.ActionShadow)
	}
	return r.Action
}

// isDeniedWithoutFleet reports whether a rule that is closed without the fleet denies the event: one
// that is proven, and of no other node.
func (l *listed) isDeniedWithoutFleet(m *meter, r *rule) bool {
	return r.OnFleetLoss == rules.LossClosed && l.event.Verified&m.Kind != 0 && l.standing != blocklist.Peer
}

// denyWithoutFleet denies an event for rule i, whatever the count, unless another rule does.
func (v *ruling) denyWithoutFleet(i int) {
	if v.action < edgeguard.ActionDeny {
		v.action, v.rule, v.closed = edgeguard.ActionDeny, i, true
	}
}
