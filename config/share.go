package config

import (
	"fmt"
	"math"

	"edgeguard/rules"
)

// unshared warns of rules for all requests of which a node reports each address
// at its first request: the share of their limit is 1. Of a rule with a small
// limit that matches some requests only, such as logins, few addresses are
// reported in any case.
func (r *reader) unshared(c *Config) {
	if c.Fleet == nil || !c.Fleet.Quiet {
		return
	}
	for i := range c.Rules.Rules {
		rule := &c.Rules.Rules[i]
		// A node computes the share in the same way, with 1e-9 against rounding.
		least := c.Fleet.Share * float64(rule.Limit)
		if rule.Scope != rules.ScopeFleet || !c.Specs[i].MatchesAll() || math.Ceil(least/float64(c.Fleet.MaxNodes)-1e-9) > 1 {
			continue
		}
		path := r.rulePath(i)
		r.Warn(path,
			fmt.Sprintf("each address is reported to the fleet at its first request: a node reports from share %v × limit %d / max_nodes %d = %.2g requests on",
				c.Fleet.Share, rule.Limit, c.Fleet.MaxNodes, least/float64(c.Fleet.MaxNodes)),
			fmt.Sprintf("set max_nodes to the number of nodes, at most %d; or raise the threshold, or set scope: node", max(1, int(math.Ceil(least))-1)))
	}
}
