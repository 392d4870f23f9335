package admin

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"edgeguard/admin/watch"
)

const (
	// mostHoursRules is how many rules have figures of their own; the rest are together.
	mostHoursRules = 8
	// mostSteps is how many steps a span has at most.
	mostSteps = 100
	// MostHours is the longest span.
	MostHours = 31 * 24 * time.Hour
	// manyBlocks in a minute are marked.
	manyBlocks = 10
)

// hoursSteps are the lengths of a step: the first of which a span has few enough.
var hoursSteps = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

// Hours is what a node did in a span, step by step, the oldest first. All its series are of
// one length. A figure is the sum of a step; of a step in which no minute was measured, nothing
// is known.
type Hours struct {
	Begin time.Time `json:"begin"`
	Until time.Time `json:"until"`
	AsOf  time.Time `json:"as_of"`
	Step  int       `json:"step_seconds"`
	// Started is when this run of the node began.
	Started time.Time `json:"started"`
	// Monitor says that nothing was refused in all that is known: Refused is what would have been.
	Monitor bool `json:"monitor,omitempty"`
	// Minutes is how many minutes of each step were measured: by them a sum is one a minute.
	Minutes  []int    `json:"minutes"`
	Requests []uint64 `json:"requests"`
	Refused  []uint64 `json:"refused"`
	// Blocks were made or changed, by this node and by others.
	Blocks []uint64 `json:"blocks"`
	// Failed is how many seconds of the step some part of the site failed.
	Failed []uint64 `json:"failed"`
	// Rules are those that refused most, and Others what is left of Refused.
	Rules  []HoursRule `json:"rules"`
	Others []uint64    `json:"others,omitempty"`
	Marks  []Mark      `json:"marks"`
}

// HoursRule is what one rule refused in each step.
type HoursRule struct {
	Rule    string   `json:"rule"`
	Refused []uint64 `json:"refused"`
}

// The kinds of mark.
const (
	MarkBlocks    = "blocks"    // ten or more were made in a minute
	MarkAlarm     = "alarm"     // one began
	MarkThreshold = "threshold" // one was changed
)

// Mark is something that happened in a span.
type Mark struct {
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`
	Text string    `json:"text"`
}

// PerMinute returns the average of a minute of a step, by the minutes that were measured in it;
// 0 if there is none.
func (h *Hours) PerMinute(sums []uint64, step int) float64 {
	return float64(sums[step]) / float64(max(h.Minutes[step], 1))
}

// Hours returns what the node did in a span; in the last hour for the zero times. What is not
// kept any more is not known.
func (v *View) Hours(_ context.Context, from, until time.Time) Hours {
	now := v.reader.Now()
	if until.IsZero() || until.After(now) {
		until = now
	}
	if from.IsZero() || !from.Before(until) {
		from = until.Add(-time.Hour)
	}
	h := newHours(v.reader.Day(), from, until, now)
	h.Started = v.reader.Stats().Started.UTC()
	return h
}

// newHours adds minutes up by steps.
func newHours(day []watch.DayMinute, from, until, now time.Time) Hours {
	step := hoursSteps[len(hoursSteps)-1]
	for _, s := range slices.Backward(hoursSteps) {
		if until.Sub(from) <= mostSteps*s {
			step = s
		}
	}
	h := Hours{AsOf: now.UTC(), Step: int(step / time.Second), Begin: from.UTC().Truncate(step), Until: until.UTC().Truncate(time.Minute), Rules: []HoursRule{}, Marks: []Mark{}}
	if behind := h.Until.Sub(h.Until.Truncate(step)); behind > 0 {
		h.Until = h.Until.Add(step - behind)
	}
	n := int(h.Until.Sub(h.Begin) / step)
	h.Minutes, h.Requests, h.Refused, h.Blocks, h.Failed = make([]int, n), make([]uint64, n), make([]uint64, n), make([]uint64, n), make([]uint64, n)
	rules := make(map[string]*HoursRule)
	for i := range day {
		m := &day[i]
		if m.Begin.Before(h.Begin) || !m.Begin.Before(h.Until) {
			continue
		}
		at := int(m.Begin.Sub(h.Begin) / step)
		h.Minutes[at]++
		h.Requests[at] += m.Requests
		h.Refused[at] += m.Denied
		h.Blocks[at] += m.Blocks
		h.Failed[at] += m.Failed
		for name, one := range m.Rules {
			if one.Denied == 0 {
				continue
			}
			if rules[name] == nil {
				rules[name] = &HoursRule{name, make([]uint64, n)}
			}
			rules[name].Refused[at] += one.Denied
		}
	}
	h.keepRules(slices.Collect(maps.Values(rules)))
	return h
}

// keepRules has the rules that refused most apart, and all others together.
func (h *Hours) keepRules(rules []*HoursRule) {
	slices.SortFunc(rules, func(a, b *HoursRule) int {
		return cmp.Or(cmp.Compare(sum(b.Refused), sum(a.Refused)), cmp.Compare(a.Rule, b.Rule))
	})
	rest := slices.Clone(h.Refused)
	for _, r := range rules[:min(len(rules), mostHoursRules)] {
		h.Rules = append(h.Rules, *r)
		for i, n := range r.Refused {
			rest[i] -= min(n, rest[i])
		}
	}
	if sum(rest) > 0 {
		h.Others = rest
	}
}

func sum(all []uint64) (total uint64) {
	for _, n := range all {
		total += n
	}
	return total
}
