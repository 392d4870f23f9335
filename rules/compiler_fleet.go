package rules

import (
	"fmt"

	"edgeguard"
)

// fillFleet checks whose counts the rule is about, and what it does without
// them. It needs the rule's action.
func (c *compiler) fillFleet(rule *Rule, spec *Spec) {
	rule.Scope, rule.OnFleetLoss = spec.Scope, spec.OnFleetLoss
	if int(spec.Scope) >= len(scopeNames) {
		c.problem("scope", flaw{fmt.Sprintf("invalid scope %v", spec.Scope), "use fleet or node"})
		return
	}
	if int(spec.OnFleetLoss) >= len(lossNames) {
		c.problem("on_fleet_loss", flaw{fmt.Sprintf("invalid value %v", spec.OnFleetLoss), "use local, open or closed"})
		return
	}
	fix := "remove it, or set scope: fleet"
	if spec.Distinct != "" {
		rule.Scope, fix = ScopeNode, "remove it"
	}
	switch {
	case rule.Scope == ScopeNode && spec.OnFleetLoss != LossLocal:
		c.problem("on_fleet_loss", flaw{"a rule of scope node does not depend on the fleet", fix})
	case spec.OnFleetLoss == LossClosed && rule.Action == edgeguard.ActionShadow:
		c.problem("on_fleet_loss", flaw{"closed refuses all matching events, and a shadow rule refuses none", "use local or open, or set action: deny"})
	}
}
