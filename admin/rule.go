package admin

import (
	"time"

	"edgeguard"
	"edgeguard/admin/tune"
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
	// Candidates are what other thresholds would have done.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Overlay is set where the threshold is not the config's.
	Overlay *tune.Overlay `json:"overlay,omitempty"`
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
	// Since is when these began to be counted.
	Since time.Time `json:"since,omitzero"`
	// Added says that an operator added it while the node ran, and can remove it.
	Added bool `json:"added,omitempty"`
}

// RuleList is the answer to a question for all rules.
type RuleList struct {
	Rules []Rule `json:"rules"`
	// Unused are overlays that are kept and not in force.
	Unused []tune.Unused `json:"unused_overlays,omitempty"`
}

// Counts is what the keys of one rule count at an instant.
type Counts struct {
	// Tally is a live one: it holds each key's count once, and the keys that count
	// most.
	Tally *tuning.Tally
	// LimitOf returns the limit of a threshold by the rule's guard.
	LimitOf tuning.LimitOf
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
	Keys uint64 `json:"keys"`
	// Requests is what all keys count together.
	Requests   uint64     `json:"requests"`
	Quantiles  Quantiles  `json:"quantiles"`
	Histogram  []Bucket   `json:"histogram"` // those that are not empty, lowest first
	Top        []KeyCount `json:"top"`
	Suggestion Suggestion `json:"suggestion"`
	// AsOf is when the keys were looked at, for all who ask within a second or
	// ten times as long as it took.
	AsOf time.Time `json:"as_of"`
}

// Outcome is what a threshold would do to what the keys count now.
type Outcome struct {
	Threshold uint32 `json:"threshold"`
	Limit     uint32 `json:"limit"`
	// Keys are above the limit, and Requests is what they count above it: what a
	// rule that denies would refuse. Shares are parts of all, from 0 to 1.
	Keys         uint64  `json:"keys"`
	KeyShare     float64 `json:"key_share"`
	Requests     uint64  `json:"requests"`
	RequestShare float64 `json:"request_share"`
	// NewKeys are those of Keys that are not blocked now; null where more than a
	// thousand keys are above the limit.
	NewKeys *int `json:"new_keys"`
	// Exact says that the figures are exact, and not within 1/32 of the limit.
	Exact bool      `json:"exact"`
	AsOf  time.Time `json:"as_of"`
}

// Suggestion is a threshold for what the keys count now, and why.
type Suggestion struct {
	// Threshold is 0 if nothing was counted.
	Threshold uint32 `json:"threshold"`
	Limit     uint32 `json:"limit"`
	// Gap is the one that the limit lies in, if there is one.
	Gap    *Gap   `json:"gap,omitempty"`
	Reason string `json:"reason"`
}

// Gap is a space between two neighbouring counts; Keys are above it.
type Gap struct {
	Low  uint32 `json:"low"`
	High uint32 `json:"high"`
	Keys int    `json:"keys"`
}

// Quantiles are counts that a part of all keys is at or under.
type Quantiles struct {
	P50  uint32 `json:"p50"`
	P90  uint32 `json:"p90"`
	P99  uint32 `json:"p99"`
	P999 uint32 `json:"p999"`
	Max  uint32 `json:"max"`
}

// Bucket is how many keys have a count from Low to High, both included, and what
// they count together.
type Bucket struct {
	Low      uint32 `json:"low"`
	High     uint32 `json:"high"`
	Keys     uint64 `json:"keys"`
	Requests uint64 `json:"requests"`
}

// newRuleDetail puts a rule and its counts into one answer, with the n keys that
// count most.
func newRuleDetail(r Rule, c Counts, n int) RuleDetail {
	counts := &c.Tally.Peaks
	q := counts.Quantile
	d := RuleDetail{
		Rule: r, Keys: counts.Total(), Requests: counts.Sum(), Histogram: []Bucket{},
		Quantiles: Quantiles{P50: q(.5), P90: q(.9), P99: q(.99), P999: q(.999), Max: counts.Max()}, Top: topOf(r, c, n),
	}
	for b := range counts.Buckets() {
		d.Histogram = append(d.Histogram, Bucket{Low: b.Low, High: b.High, Keys: b.Count, Requests: b.Sum})
	}
	s := c.Tally.Suggest(c.LimitOf)
	d.Suggestion = Suggestion{Threshold: s.Threshold, Limit: s.Limit, Reason: s.Reason}
	if s.Gap.Keys > 0 {
		d.Suggestion.Gap = &Gap{Low: s.Gap.Low, High: s.Gap.High, Keys: s.Gap.Keys}
	}
	return d
}

// topOf returns the n keys that count most.
func topOf(r Rule, c Counts, n int) []KeyCount {
	sorted := c.Tally.Top.Sorted()
	top := make([]KeyCount, 0, n)
	for _, p := range sorted[:min(n, len(sorted))] {
		top = append(top, KeyCount{Rule: r.Name, Key: p.Key, Count: p.Peak, Limit: r.Limit})
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
