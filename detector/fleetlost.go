package detector

import (
	"edgeguard"
	"edgeguard/rules"
)

// SetFleetLost says whether the fleet cannot be reached. While it cannot, a
// rule with on_fleet_loss: open reports and enforces nothing, and one with
// closed denies every proven event that its meter counts, for the reason "fleet
// lost"; others go on with the node's own counts. Blocks that stand are not
// touched. Detectors that follow one another at a reload share it.
func (d *Detector) SetFleetLost(lost bool) { d.lost.Store(lost) }

// action is what rule r does about a count over its limit.
func (d *Detector) action(r *rule) edgeguard.Action {
	if r.OnFleetLoss == rules.LossOpen && d.lost.Load() {
		return min(r.Action, edgeguard.ActionShadow)
	}
	return r.Action
}

// close denies a proven event if rule i says so without the fleet.
func (c *decision) close(m *meter, i int) {
	if c.d.rules[i].OnFleetLoss == rules.LossClosed && c.event.Verified&m.Kind != 0 && c.action < edgeguard.ActionDeny {
		c.action, c.rule, c.closed = edgeguard.ActionDeny, i, true
	}
}
