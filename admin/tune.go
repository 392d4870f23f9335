package admin

import (
	"context"
	"time"

	"edgeguard/admin/call"
)

// What operators change of rules while a node runs, as the admin API and pages ask
// for it. What a change does is the [Tuner]'s.

// Overlay is a threshold that is in force instead of the config's.
type Overlay struct {
	Threshold uint32 `json:"threshold"`
	Base      uint32 `json:"base"` // the config's
	// Action is shadow where it was set; the config's in force again at Until, if that is set.
	Action string    `json:"action,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	Since  time.Time `json:"since"`
	By     string    `json:"by,omitempty"`
	Note   string    `json:"note,omitempty"`
	// Scope is ScopeFleet for a threshold of the whole fleet, which was set on Node,
	// and ScopeNode for one of this node alone.
	Scope string `json:"scope"`
	Node  string `json:"node,omitempty"`
}

// Unused is an overlay that is kept and not in force, and why.
type Unused struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// ThresholdRequest sets a threshold while the node runs.
type ThresholdRequest struct {
	Threshold uint32 `json:"threshold,omitempty"`
	// Action is shadow, which has the rule only report; empty leaves it as it is. With it
	// the threshold may be left out.
	Action string `json:"action,omitempty"`
	// For is after which time the config's is in force again, such as 1h; empty for never.
	For string `json:"for,omitempty"`
	// IfThreshold is the threshold that the client saw in force. With another one in
	// force nothing is changed.
	IfThreshold uint32 `json:"if_threshold"`
	Note        string `json:"note,omitempty"`
	// Force confirms a threshold that would refuse much. With ScopeFleet no node
	// waits for a confirmation of its own.
	Force bool `json:"force,omitempty"`
	// Scope is ScopeNode, which is the default, or ScopeFleet.
	Scope string `json:"scope,omitempty"`
}

// Where a threshold is in force.
const (
	ScopeNode  = "node"
	ScopeFleet = "fleet"
)

// FleetThreshold is a threshold that an operator set for the whole fleet, as this node has it.
type FleetThreshold struct {
	Threshold uint32 `json:"threshold"` // 0: undone, which awaits confirmation here
	Base      uint32 `json:"base"`      // the config's, which it replaces
	// Action is shadow where it was set. The config's are in force again at Until, if that is set.
	Action string    `json:"action,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	Since  time.Time `json:"since"`
	By     string    `json:"by,omitempty"`
	Note   string    `json:"note,omitempty"`
	Node   string    `json:"node"` // where it was set
	// InForce: it decides here. Held: it awaits confirmation here, because it would
	// newly refuse Share of the requests; until then what was in force before
	// decides. Why says why else it is not in force.
	InForce bool    `json:"in_force"`
	Held    bool    `json:"held,omitempty"`
	Share   float64 `json:"share,omitempty"`
	Why     string  `json:"why,omitempty"`
}

// CandidateRequest adds a candidate while the node runs.
type CandidateRequest struct {
	Note string `json:"note,omitempty"`
}

// Tuner changes rules while the node runs. by names who asks. Its changes survive a
// restart, and no count is lost. Package node/overlay implements it.
type Tuner interface {
	// SetThreshold puts a threshold in force and returns the one before.
	SetThreshold(ctx context.Context, rule, by string, r ThresholdRequest) (was uint32, p *call.Problem)

	// EndOverlay puts the config's threshold in force again, and returns the one
	// before and the config's. Both are 0 for an overlay that was not in force.
	EndOverlay(rule string) (was, now uint32, p *call.Problem)

	// EndFleet undoes a threshold of the whole fleet, and returns the one before on
	// this node and the one after. force is that of a ThresholdRequest.
	EndFleet(rule, by string, force bool) (was, now uint32, p *call.Problem)

	// FleetOffered returns why thresholds cannot be set for the whole fleet; nil if
	// they can.
	FleetOffered() *call.Problem

	// AddCandidate counts another threshold beside the one in force.
	AddCandidate(rule, by string, threshold uint32, note string) *call.Problem

	// RemoveCandidate ends that. A candidate of the config stays.
	RemoveCandidate(rule string, threshold uint32) *call.Problem
}
