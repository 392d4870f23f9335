package admin

import (
	"time"

	"edgeguard/tuning"
)

// Counted is how the counts of a rule's keys are distributed now.
type Counted struct {
	Keys uint64 `json:"keys"`
	// Requests is what all keys count together.
	Requests   uint64     `json:"requests"`
	Quantiles  Quantiles  `json:"quantiles"`
	Histogram  []Bucket   `json:"histogram"` // those that are not empty, lowest first
	Suggestion Suggestion `json:"suggestion"`
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
	// Threshold is 0 if there is nothing to suggest: too little was counted, or no
	// abuser is visible.
	Threshold uint32 `json:"threshold"`
	Limit     uint32 `json:"limit"`
	// Gap is the one that the limit lies in, if there is one.
	Gap    *Gap   `json:"gap,omitempty"`
	Reason string `json:"reason"`
}

// Gap is a space between two neighbouring counts; Keys are above it.
type Gap struct {
	Low  uint32 `json:"low"`
	High uint32 `json:"high"` // the lowest count above the gap
	Keys int    `json:"keys"`
}

// Quantiles are counts that a part of all keys is at or under.
type Quantiles struct {
	P50  uint32 `json:"p50"`  // half of the keys count at most this
	P90  uint32 `json:"p90"`  // nine in ten count at most this
	P99  uint32 `json:"p99"`  // 99 in 100 count at most this
	P999 uint32 `json:"p999"` // 999 in 1,000 count at most this
	Max  uint32 `json:"max"`  // the highest count
}

// Bucket is how many keys have a count from Low to High, both included, and what
// they count together.
type Bucket struct {
	Low      uint32 `json:"low"`
	High     uint32 `json:"high"` // the highest count of the bucket
	Keys     uint64 `json:"keys"`
	Requests uint64 `json:"requests"`
}

// newCounted returns how counts are distributed.
func newCounted(of *Counts) Counted {
	t := of.Tally
	counts, q := &t.Peaks, t.Peaks.Quantile
	c := Counted{
		Keys: counts.Total(), Requests: counts.Sum(), Histogram: []Bucket{},
		Quantiles: Quantiles{P50: q(.5), P90: q(.9), P99: q(.99), P999: q(.999), Max: counts.Max()},
	}
	for b := range counts.Buckets() {
		c.Histogram = append(c.Histogram, Bucket{Low: b.Low, High: b.High, Keys: b.Count, Requests: b.Sum})
	}
	s := t.Suggest(of.LimitOf, of.People)
	c.Suggestion = Suggestion{Threshold: s.Threshold, Limit: s.Limit, Reason: s.Reason}
	if s.Gap.Keys > 0 {
		c.Suggestion.Gap = &Gap{Low: s.Gap.Low, High: s.Gap.High, Keys: s.Gap.Keys}
	}
	return c
}

// newOutcome returns what a threshold would do; without NewKeys, which needs a list
// of blocks.
func newOutcome(t *tuning.Tally, limitOf tuning.LimitOf, threshold uint32, asOf time.Time) Outcome {
	o := t.Outcome(threshold, limitOf)
	return Outcome{
		Threshold: o.Threshold, Limit: o.Limit, Keys: o.Keys, KeyShare: o.KeyShare,
		Requests: o.Events, RequestShare: o.EventShare, Exact: o.Exact, AsOf: asOf.UTC(),
	}
}
