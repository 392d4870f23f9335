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

// denyWithoutFleet denies a proven event if rule i says so without the fleet.
func (c *decision) denyWithoutFleet(m *meter, i int) {
	if c.d.rules[i].OnFleetLoss == rules.LossClosed && c.event.Verified&m.Kind != 0 && c.action < edgeguard.ActionDeny && c.standing != blocklist.Peer {
		c.action, c.rule, c.closed = edgeguard.ActionDeny, i, true
	}
}
