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
	Guard            Guard
	Action           edgeguard.Action // block, deny or shadow
	BlockFor         time.Duration    // how long a block lasts
	Candidates       []Candidate      // ascending
}

// Candidate is another threshold of a rule, counted and reported only.
type Candidate struct {
	Threshold, Limit uint32
}
