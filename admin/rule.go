package admin

import (
	"edgeguard"
	"edgeguard/tuning"
)

// Rule is a rule and what became of it so far.
type Rule struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"` // what it counts, such as "request"
	Key       string `json:"key"`  // such as "address" or "address /24, host"
	Window    int    `json:"window_seconds"`
	Threshold uint32 `json:"threshold"`
	Guard     string `json:"guard"` // a decimal
	Limit     uint32 `json:"limit"`
	Action    string `json:"action"`
	BlockFor  int    `json:"block_for_seconds,omitempty"` // of the first block
	// Scope is whose counts the limit is for, "fleet" or "node"; empty on a node
	// alone.
	Scope string `json:"scope,omitempty"`
	// Crossings say how often a key went over the limit since the start, by what
	// came of it: a block, a deny, a shadow, or an alarm where the evidence can
	// be forged or the address must not be blocked.
	Crossings []Crossings `json:"crossings,omitempty"`
	// Wide are the limits of the IPv6 networks around the rule's keys, the
	// smallest first.
	Wide []Wide `json:"wide,omitempty"`
	// Candidates are what other thresholds would have done since the start.
	Candidates []Candidate `json:"candidates,omitempty"`
}

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
}

// RuleList is the answer to a question for all rules.
type RuleList struct {
	Rules []Rule `json:"rules"`
}

// Counts is what the keys of one rule count at an instant.
type Counts struct {
	// Distribution holds each key's count once.
	Distribution *tuning.Distribution
	// Top holds the keys that count most, the highest first.
	Top []KeyCount
}

// KeyCount is a key and its count beside the limit of a rule.
type KeyCount struct {
	Rule  string        `json:"rule"`
	Key   edgeguard.Key `json:"-"`
	Shown string        `json:"key"` // Key in words; set by this package
	Count uint32        `json:"count"`
	Limit uint32        `json:"limit"`
	// Fleet is what all nodes count, where the limit is for the fleet's count.
	Fleet *FleetCount `json:"fleet,omitempty"`
}

// RuleDetail is one rule with the distribution of its counts.
type RuleDetail struct {
	Rule
	Keys      uint64     `json:"keys"`
	Quantiles Quantiles  `json:"quantiles"`
	Histogram []Bucket   `json:"histogram"` // those that are not empty, lowest first
	Top       []KeyCount `json:"top"`
}

// Quantiles are counts that a part of all keys is at or under.
type Quantiles struct {
	P50  uint32 `json:"p50"`
	P90  uint32 `json:"p90"`
	P99  uint32 `json:"p99"`
	P999 uint32 `json:"p999"`
	Max  uint32 `json:"max"`
}

// Bucket is how many keys have a count from Low to High, both included.
type Bucket struct {
	Low  uint32 `json:"low"`
	High uint32 `json:"high"`
	Keys uint64 `json:"keys"`
}

// newRuleDetail puts a rule and its counts into one answer.
func newRuleDetail(r Rule, c Counts) RuleDetail {
	d := RuleDetail{Rule: r, Histogram: []Bucket{}, Top: shown(c.Top)}
	if c.Distribution == nil {
		return d
	}
	d.Keys = c.Distribution.Total()
	q := c.Distribution.Quantile
	d.Quantiles = Quantiles{P50: q(.5), P90: q(.9), P99: q(.99), P999: q(.999), Max: c.Distribution.Max()}
	for b := range c.Distribution.Buckets() {
		d.Histogram = append(d.Histogram, Bucket{Low: b.Low, High: b.High, Keys: b.Count})
	}
	return d
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
