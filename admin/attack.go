package admin

import (
	"net/netip"
	"time"
)

// Attack is a network with the rules that it went over, a group of networks that went over one
// rule, or a crowd that did so together: see package attack. What is refused of it would be refused in mode monitor.
type Attack struct {
	ID    string   `json:"id"`    // rule, network and time of its first crossing
	Rules []string `json:"rules"` // those that refused most first
	// Networks are at most ten of NetworkCount, those that refused most first. The networks of a group
	// went over the same rule at the same time, and may have nothing else in common.
	Networks     []netip.Prefix `json:"networks"`
	NetworkCount int            `json:"network_count"`
	Addresses    int            `json:"addresses"`
	Blocks       int            `json:"blocks"` // in force
	Began        time.Time      `json:"began"`
	Last         time.Time      `json:"last"` // crossing or refusal
	// Ended is a quarter of an hour after Last; absent while it goes on.
	Ended time.Time `json:"ended,omitzero"`
	// Watched says that all of it is of rules in shadow. Denied says that one of its rules refuses
	// what matches it and blocks nobody: what that refused is known of the rule alone, and is not in Refused.
	Watched bool   `json:"watched,omitempty"`
	Denied  bool   `json:"denied,omitempty"`
	Refused uint64 `json:"refused"` // by its blocks
	// Silent are the nodes of the fleet whose figures are missing.
	Silent []string `json:"silent,omitempty"`
	// Crowd is what many addresses do together, in place of networks.
	Crowd *Crowd `json:"crowd,omitempty"`
	// Into is the ID of the attack that the one asked for became part of.
	Into string `json:"into,omitempty"`
}

// GoesOn reports whether the attack has not ended.
func (a *Attack) GoesOn() bool { return a.Ended.IsZero() }

// AttackList is the attacks of a time.
type AttackList struct {
	Attacks []Attack  `json:"attacks"` // those that go on first, and then those of which most is refused
	AsOf    time.Time `json:"as_of"`
}

// AttackNetwork is a network of an attack.
type AttackNetwork struct {
	Network netip.Prefix `json:"network"`
	Began   time.Time    `json:"began"`
	Refused uint64       `json:"refused"`
}

// AttackDetail is an attack with its networks, and a page of its blocks in force.
type AttackDetail struct {
	Attack
	Members []AttackNetwork `json:"members"` // at most 1,000, those that refused most first
	Active  []ActiveBlock   `json:"active"`
	// Comers are a page of the members of a crowd.
	Comers []Comer `json:"comers,omitempty"`
	// Next is the cursor of the next page, empty on the last.
	Next string    `json:"next,omitempty"`
	AsOf time.Time `json:"as_of"`
}
