package detector

import (
	"time"

	"edgeguard"
)

// The reasons of verdicts and blocks that a rule gives.
const (
	overLimit = "over limit"
	fleetLost = "fleet lost"
)

// ruling is what the rules said of an event alone: the strongest so far.
type ruling struct {
	action       edgeguard.Action
	closed       bool // because the fleet is lost, whatever the count
	rule         int
	count, limit uint32
	retryAfter   time.Duration
}

// strengthen takes what a rule does to this event, if it is the strongest so far, or as strong
// and of a rule that comes before.
func (v *ruling) strengthen(action edgeguard.Action, x *excess) {
	if action > v.action || action == v.action && x.rule < v.rule {
		v.action, v.rule, v.count, v.limit, v.closed = action, x.rule, x.count.count, x.limit, false
	}
}

// verdict returns it as a verdict.
func (v *ruling) verdict(d *Detector) edgeguard.Verdict {
	switch {
	case v.closed:
		return edgeguard.Verdict{Action: v.action, Rule: d.rules[v.rule].Name, Reason: fleetLost}
	case v.action != edgeguard.ActionPass:
		return edgeguard.Verdict{Action: v.action, Rule: d.rules[v.rule].Name, Reason: overLimit,
			Count: v.count, Limit: v.limit, RetryAfter: v.retryAfter}
	}
	return edgeguard.Verdict{}
}
