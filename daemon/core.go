package daemon

import (
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/config"
	"edgeguard/detector"
	"edgeguard/fleet"
	"edgeguard/rules"
	"edgeguard/sensor/httpauth"
)

// core is what a reload replaces in one step: the settings, and the detector
// that goes by them.
type core struct {
	config   *config.Config
	detector *detector.Detector
	// member is the detector with its part in the fleet; nil for a node alone.
	member *fleet.Member
	// policies are what the rules allow, for the answers of forward auth.
	policies map[string]httpauth.Policy
}

// newCore makes what the node goes by with a config, following on what it went
// by before.
func (n *Node) newCore(c *config.Config, before *core) *core {
	k := &core{config: c, policies: make(map[string]httpauth.Policy, len(c.Rules.Rules))}
	for i := range c.Rules.Rules {
		r := &c.Rules.Rules[i]
		k.policies[r.Name] = httpauth.Policy{Quota: r.Limit, Window: c.Rules.Meters[r.Meter].Window}
	}
	dc := detector.Config{
		Rules: c.Rules, Memory: n.memory, List: n.list, Node: c.Node, Monitor: c.Monitor, Seed: n.seed, Crossed: n.crossed,
	}
	var counts *aggregator.Node
	if before != nil {
		dc.Previous = before.detector
		if before.member != nil {
			counts = before.member.Counts
		}
	}
	if c.Fleet == nil {
		k.detector = detector.New(dc)
		return k
	}
	k.member = fleet.New(dc, aggregator.Config{
		Boot: n.begun, Offset: n.clock.Offset(), Quiet: c.Fleet.Quiet, MaxNodes: c.Fleet.MaxNodes, Nodes: 1,
		Share: c.Fleet.Share, MaxSuspects: c.Fleet.MaxSuspects, Previous: counts,
	})
	k.detector = k.member.Detector
	return k
}

// longestWindow is that of the rules, and how long ended blocks are remembered.
func longestWindow(set *rules.Set) time.Duration {
	longest := rules.DefaultWindow
	for i := range set.Meters {
		longest = max(longest, set.Meters[i].Window)
	}
	return longest
}

// decide answers one event: the sensors' edgeguard.Decider.
func (n *Node) decide(now time.Time, event *edgeguard.Event) edgeguard.Verdict {
	part := n.gate.of(event.Addr)
	part.RLock()
	defer part.RUnlock() // also when a decision panics
	return n.core.Load().detector.Decide(now, event)
}

// lookUp answers by the blocklist alone, where another sensor counts.
func (n *Node) lookUp(now time.Time, event *edgeguard.Event) edgeguard.Verdict {
	part := n.gate.of(event.Addr)
	part.RLock()
	defer part.RUnlock()
	return n.core.Load().detector.Look(now, event.Addr)
}

// policy gives what a rule allows; false for a manual block.
func (n *Node) policy(rule string) (httpauth.Policy, bool) {
	p, ok := n.core.Load().policies[rule]
	return p, ok
}

// crossed hears what the rules did that is no block: those are heard of
// through the list.
func (n *Node) crossed(c edgeguard.Crossing) {
	n.crossings.of(ruling{action: c.Action, rule: c.Rule}).Add(1)
	switch c.Action {
	case edgeguard.ActionBlock:
	case edgeguard.ActionAlarm:
		n.alarms.happened(c.Time, alarmSpared, c.Rule, c.Key.String()+" went over the limit of rule "+c.Rule+
			" and is not blocked: the evidence can be forged, or the address must not be blocked")
	default:
		n.journal.hear(note{crossing: &c})
	}
}
