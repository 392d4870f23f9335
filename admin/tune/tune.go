// Package tune is what operators change of rules while a node runs, as the admin API and
// pages ask for it. What a change does is the Tuner's.
package tune

import (
	"context"
	"time"

	"edgeguard/admin/call"
)

// Overlay is a threshold that is in force instead of the config's.
type Overlay struct {
	Threshold uint32    `json:"threshold"`
	Base      uint32    `json:"base"` // the config's
	Since     time.Time `json:"since"`
	By        string    `json:"by,omitempty"`
	Note      string    `json:"note,omitempty"`
}

// Unused is an overlay that is kept and not in force, and why.
type Unused struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// ThresholdRequest sets a threshold while the node runs.
type ThresholdRequest struct {
	Threshold uint32 `json:"threshold"`
	// IfThreshold is the threshold that the client saw in force. With another one in
	// force nothing is changed.
	IfThreshold uint32 `json:"if_threshold"`
	Note        string `json:"note,omitempty"`
	// Force confirms a threshold that would refuse much.
	Force bool `json:"force,omitempty"`
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

	// AddCandidate counts another threshold beside the one in force.
	AddCandidate(rule, by string, threshold uint32, note string) *call.Problem

	// RemoveCandidate ends that. A candidate of the config stays.
	RemoveCandidate(rule string, threshold uint32) *call.Problem
}
