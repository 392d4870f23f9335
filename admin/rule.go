package admin

import (
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/internal/words"
	"edgeguard/tuning"
)

// Rule is a rule and what became of it so far.
type Rule struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`               // what it counts, such as "request"
	Key       string `json:"key"`                // such as "address" or "address /24, host"
	Distinct  string `json:"distinct,omitempty"` // the field whose different values it counts
	Window    int    `json:"window_seconds"`
	Threshold uint32 `json:"threshold"`
	Guard     string `json:"guard"` // a decimal
	Limit     uint32 `json:"limit"`
	// Unit is what its figures are of, which stay as the rule adds them up.
	Unit     words.Measure `json:"unit,omitzero"`
	Action   string        `json:"action"`
	BlockFor int           `json:"block_for_seconds,omitempty"` // of the first block
	// Scope is whose counts the limit is for, "fleet" or "node"; empty on a node
	// alone.
	Scope string `json:"scope,omitempty"`
	// Crossings say how often a key went over the limit since the start, by what
	// came of it: a block, a deny, a shadow, or an alarm where the evidence can
	// be forged or the address must not be blocked; or "held", where nothing came of it
	// because the site failed.
	Crossings []Crossings `json:"crossings,omitempty"`
	// SparesOutages says that the rule goes by the status, so that it counts no failures while the
	// site fails. Excused is how many events it did not count for that.
	SparesOutages bool   `json:"guarded,omitempty"`
	Excused       uint64 `json:"held_events,omitempty"`
	// Wide are the limits of the IPv6 networks around the rule's keys, the
	// smallest first.
	Wide []Wide `json:"wide,omitempty"`
	// Candidates are what other thresholds would have done.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Learned is set where the config leaves the threshold to what the node sees.
	Learned *Learned `json:"learned,omitempty"`
	// Overlay is set where the threshold is not the config's. Fleet is the threshold
	// that was set for the whole fleet, in force here or not.
	Overlay *Overlay        `json:"overlay,omitempty"`
	Fleet   *FleetThreshold `json:"fleet,omitempty"`
}

// ExcusedKeys is how many keys would have been over the limit while the site failed.
func (r *Rule) ExcusedKeys() (n uint64) {
	for _, c := range r.Crossings {
		if c.Action == ActionExcused {
			n += c.Count
		}
	}
	return n
}

// ActionExcused is the action of crossings of which nothing came because the site failed.
const ActionExcused = "held"

// Crossings is how often a rule's limit was crossed with one outcome.
type Crossings struct {
	Action string `json:"action"`
	Count  uint64 `json:"count"`
}

// Wide is what a rule allows an IPv6 network around its keys, and does beyond.
type Wide struct {
	Bits   int    `json:"bits"` // prefix length: 56 or 48
	Limit  uint32 `json:"limit"`
	Times  uint32 `json:"times"`  // how many times the rule's limit
	Action string `json:"action"` // block, deny, shadow or report
	// Crossings say how often such a network went over, by what came of it: an
	// alarm where it is only reported.
	Crossings []Crossings `json:"crossings,omitempty"`
}

// Candidate is a threshold that is counted and never enforced.
type Candidate struct {
	Threshold uint32 `json:"threshold"`
	Limit     uint32 `json:"limit"`
	// Over is how many events were over the limit, Crossings how often a key
	// went over it.
	Over      uint64 `json:"over"`
	Crossings uint64 `json:"crossings"`
	// Since is when these began to be counted.
	Since time.Time `json:"since,omitzero"`
	// Added says that an operator added it while the node ran, and can remove it.
	Added bool `json:"added,omitempty"`
}

// RuleList is the answer to a question for all rules.
type RuleList struct {
	Rules []Rule `json:"rules"`
	// Unused are overlays that are kept and not in force.
	Unused []Unused `json:"unused_overlays,omitempty"`
}

// Counts is what the keys of one rule count at an instant.
type Counts struct {
	// Tally is a live one: it holds each key's count once, and the keys that count
	// most.
	Tally *tuning.Tally
	// LimitOf returns the limit of a threshold by the rule's guard.
	LimitOf tuning.LimitOf
	// People says how high people count by the rule, as far as is known.
	People tuning.People
}

// KeyCount is a key and its count beside the limit of a rule.
type KeyCount struct {
	Rule  string        `json:"rule"`
	Key   edgeguard.Key `json:"-"`
	Shown string        `json:"key"` // Key in words; set by this package
	Count uint32        `json:"count"`
	Limit uint32        `json:"limit"`
	Unit  words.Measure `json:"unit,omitzero"`
	// Fleet is what all nodes count, where the limit is for the fleet's count.
	Fleet *FleetCount `json:"fleet,omitempty"`
	// More is how many other rules have a key of the prefix near their limit, in a list
	// that has each prefix once.
	More int `json:"more_rules,omitempty"`
}

// Near reports whether it counts more than 80 % of its limit.
func (k *KeyCount) Near() bool { return 5*uint64(k.Count) > 4*uint64(k.Limit) }

// byPrefix returns the nearest key of each prefix of keys, which are in that order: who
// is near the limits of several rules is one client to look at. Keys without an address are
// each by themselves.
func byPrefix(keys []KeyCount) []KeyCount {
	type ruled struct {
		netip.Prefix
		rule string
	}
	first, at, counted := []KeyCount{}, make(map[netip.Prefix]int), make(map[ruled]bool)
	for _, k := range keys {
		if !k.Key.Prefix.IsValid() { // of everybody
			first = append(first, k)
			continue
		}
		i, seen := at[k.Key.Prefix]
		if by := (ruled{k.Key.Prefix, k.Rule}); seen && k.Near() && !counted[by] {
			first[i].More++
			counted[by] = true
		}
		if !seen {
			at[k.Key.Prefix], counted[ruled{k.Key.Prefix, k.Rule}] = len(first), true
			first = append(first, k)
		}
	}
	return first
}

// RuleDetail is one rule with the distribution of its counts.
type RuleDetail struct {
	Rule
	Counted
	Top []KeyCount `json:"top"`
	// AsOf is when the keys were looked at, for all who ask within a second or
	// 25 times as long as it took.
	AsOf time.Time `json:"as_of"`
}

// topOf returns the first n of the keys that count most.
func topOf(r Rule, sorted []tuning.Peak, n int) []KeyCount {
	sorted = sorted[:min(n, len(sorted))]
	top := make([]KeyCount, 0, len(sorted))
	for _, p := range sorted {
		top = append(top, KeyCount{Rule: r.Name, Key: p.Key, Count: p.Peak, Limit: r.Limit, Unit: r.Unit})
	}
	return shown(top)
}

// shown fills in the keys' words.
func shown(keys []KeyCount) []KeyCount {
	out := make([]KeyCount, len(keys))
	for i, k := range keys {
		k.Shown = k.Key.String()
		out[i] = k
	}
	return out
}
