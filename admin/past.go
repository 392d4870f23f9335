package admin

import (
	"time"

	"edgeguard/tuning"
)

// Windows are what a rule's keys counted in windows that have ended.
type Windows struct {
	// All are those that were kept, the oldest first, and Step is how far apart they
	// are.
	All  []tuning.Window
	Step time.Duration
	// LimitOf returns the limit of a threshold by the rule's guard.
	LimitOf tuning.LimitOf
}

// RuleHistory is what two thresholds of a rule would have done in each window of
// the last day.
type RuleHistory struct {
	Rule string `json:"rule"`
	// Step is how far apart windows begin, in seconds. Of the time between two that
	// are further apart nothing is known.
	Step int `json:"step_seconds"`
	// Limit and Threshold are those in force now, TriedLimit and Tried those asked
	// for.
	Threshold  uint32       `json:"threshold"`
	Limit      uint32       `json:"limit"`
	Tried      uint32       `json:"tried_threshold,omitempty"`
	TriedLimit uint32       `json:"tried_limit,omitempty"`
	Windows    []RuleWindow `json:"windows"` // the oldest first
	AsOf       time.Time    `json:"as_of"`
}

// RuleWindow is what a rule's keys counted in one window.
type RuleWindow struct {
	From time.Time `json:"from"`
	// AsOf is when the keys were looked at: when the window had just ended.
	AsOf     time.Time `json:"as_of"`
	Keys     uint64    `json:"keys"`
	Requests uint64    `json:"requests"`
	// Live is what the threshold in force now would have done, Tried the one asked
	// for.
	Live  WindowOutcome  `json:"live"`
	Tried *WindowOutcome `json:"tried,omitempty"`
}

// WindowOutcome is how many keys were over a limit, and what they counted above it
// as a part of all, from 0 to 1; as Outcome, within 1/32 of the limit.
type WindowOutcome struct {
	Keys         uint64  `json:"keys"`
	RequestShare float64 `json:"request_share"`
}

// newRuleHistory returns what the threshold in force and another one, unless it is 0,
// would have done in the windows.
func newRuleHistory(rule string, threshold, limit, tried uint32, windows Windows, now time.Time) RuleHistory {
	h := RuleHistory{Rule: rule, Step: int(windows.Step / time.Second), Threshold: threshold, Limit: limit, Windows: []RuleWindow{}, AsOf: now.UTC()}
	if tried > 0 {
		h.Tried, h.TriedLimit = tried, windows.LimitOf(tried)
	}
	for _, w := range windows.All {
		keys, requests := w.Counts.Total()
		one := RuleWindow{From: w.From.UTC(), AsOf: w.At.UTC(), Keys: keys, Requests: requests, Live: windowOutcome(w.Counts, h.Limit, requests)}
		if tried > 0 {
			o := windowOutcome(w.Counts, h.TriedLimit, requests)
			one.Tried = &o
		}
		h.Windows = append(h.Windows, one)
	}
	return h
}

func windowOutcome(counts tuning.Sparse, limit uint32, requests uint64) WindowOutcome {
	return WindowOutcome{Keys: counts.Above(limit), RequestShare: float64(counts.Excess(limit)) / float64(max(requests, 1))}
}
