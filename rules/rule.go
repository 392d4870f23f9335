package rules

import (
	"time"

	"edgeguard"
)

// Rule is one compiled rule: what follows when its meter's count passes the
// limit.
type Rule struct {
	Name  string
	Meter int // index in Set.Meters
	// Threshold is what the operator set, Limit what counts are compared
	// with: a count above it crosses.
	Threshold, Limit uint32
	// Learned and Pending are as in Spec. While it is pending no count is above Limit.
	Learned, Pending bool
	Guard            Guard
	Action           edgeguard.Action // block, deny or shadow
	BlockFor         time.Duration    // how long a block lasts, the first of a key's if there is Escalate
	Escalate         []time.Duration  // how long those after it last; the last again and again
	ProvokedFor      time.Duration    // the longest of a block that a page elsewhere may have provoked; 0: any
	WhileOver        bool             // a block is extended while the count stays over
	Candidates       []Candidate      // ascending
	Scope            Scope
	OnFleetLoss      Loss // LossLocal unless Scope is ScopeFleet
	Wide             Wide
	Widths           []Width // what Wide comes to, the longest prefix first
	People           People  // how high people count, as far as is known
}

// Blocked returns how long a key's block lasts that was blocked so many times
// before.
func (r *Rule) Blocked(before int) time.Duration {
	if before <= 0 || len(r.Escalate) == 0 {
		return r.BlockFor
	}
	return r.Escalate[min(before, len(r.Escalate))-1]
}

// StepOf returns how far a block climbs that would be its key's step-th, and how long it
// lasts: no further and no longer than ProvokedFor, if a page elsewhere may have provoked it.
func (r *Rule) StepOf(step int, provoked bool) (int, time.Duration) {
	if !provoked || r.ProvokedFor == 0 {
		return step, r.Blocked(step - 1)
	}
	for step > 1 && r.Blocked(step-1) > r.ProvokedFor {
		step--
	}
	return step, min(r.Blocked(step-1), r.ProvokedFor)
}

// Candidate is another threshold of a rule, counted and reported only.
type Candidate struct {
	Threshold, Limit uint32
}
