package fleet

import (
	"encoding/json"
	"math"
	"slices"

	"edgeguard/aggregator"
	"edgeguard/internal/safetext"
)

// SpanFigures is what a node did in each step of a span that another node asked for.
type SpanFigures struct {
	aggregator.Span
	End int64 `json:"end"` // the number of the first step behind it
	// Steps are the last, the oldest first. One that was not measured is null.
	Steps []*StepFigures `json:"steps"`
	Rules []string       `json:"rules,omitempty"` // those that refused most
}

// StepFigures is one step: how many of its minutes were measured, its requests, how many of them
// were refused, and by which of [SpanFigures.Rules], without zeros at the end.
type StepFigures []uint64

// stepTotals is how many figures stand before those of rules.
const stepTotals = 3

// valid reports whether a node can have written it.
func (s *SpanFigures) valid() bool {
	if !s.Span.Valid() || len(s.Steps) > s.Length || len(s.Rules) > spanRules || s.End < 0 || s.End > math.MaxUint32 {
		return false
	}
	for _, rule := range s.Rules {
		if rule == "" || len(rule) > ruleLength || !safetext.Clean(rule) {
			return false
		}
	}
	for _, step := range s.Steps {
		if step == nil {
			continue
		}
		if n := len(*step); n < stepTotals || n > stepTotals+len(s.Rules) || (*step)[0] > uint64(s.Step) || slices.Max(*step) > mostAMinute*uint64(s.Step) {
			return false
		}
	}
	return true
}

// withoutLastRule returns the figures without those of the rule that refused least.
func (s *SpanFigures) withoutLastRule() SpanFigures {
	less := SpanFigures{s.Span, s.End, make([]*StepFigures, len(s.Steps)), s.Rules[:len(s.Rules)-1]}
	for i, step := range s.Steps {
		if step != nil {
			kept := (*step)[:min(len(*step), stepTotals+len(less.Rules))]
			less.Steps[i] = &kept
		}
	}
	return less
}

// fitting returns the spans with as many rules as fit into a text: what a span loses is among its
// requests that all other rules refused.
func fitting(all []SpanFigures) []SpanFigures {
	all = slices.Clone(all)
	for {
		if said, _ := json.Marshal(all); len(said) <= mostOfSpans-len(`,"spans":`) {
			return all
		}
		longest := 0
		for i := range all {
			if len(all[i].Rules) > len(all[longest].Rules) {
				longest = i
			}
		}
		if len(all[longest].Rules) > 0 {
			all[longest] = all[longest].withoutLastRule()
		} else {
			all = all[:len(all)-1]
		}
	}
}

// asked returns the spans that the nodes but the named one ask for: the newest of each first, so that
// one that asks for many takes no other's.
func asked(node string, alive []aggregator.Heartbeat) (spans []aggregator.Span) {
	for i := range aggregator.MostSpans {
		for _, h := range alive {
			if h.Node != node && i < len(h.Spans) && len(spans) < aggregator.MostSpans && !slices.Contains(spans, h.Spans[i]) {
				spans = append(spans, h.Spans[i])
			}
		}
	}
	return spans
}
