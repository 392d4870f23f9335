package watch

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// steps is how many steps each series keeps.
	steps = 60
	// maxRules is how many rules are kept apart; the rest count in the totals
	// only, so that no config can grow the series without end.
	maxRules = 64
)

// Counters are a node's counters since its start. Denied is also what would have been in
// mode monitor.
type Counters struct {
	Requests, Denied, Blocks uint64
	Monitor                  bool // now
	// Here are the blocks that this node made.
	Here uint64
	// Failed is how many seconds the site failed.
	Failed uint64
	// Rules has the denied events and the blocks of each rule.
	Rules map[string]RuleCounters
}

// RuleCounters are the counters of one rule.
type RuleCounters struct {
	Denied uint64 `json:"denied"`
	Blocks uint64 `json:"blocks"`
}

// Series is what a node did in each step of a span, the oldest first. It is
// shorter than 60 steps until the node has run for so long.
type Series struct {
	Step  int       `json:"step_seconds"`   // how long each figure is for
	Until time.Time `json:"until,omitzero"` // the end of the last step
	// Monitor says that nothing is refused now: what is denied would be.
	Monitor bool `json:"monitor,omitempty"`
	// Requests were decided, Denied of them refused. Blocks were made or changed,
	// by this node and by others.
	Requests []uint64 `json:"requests"`
	Denied   []uint64 `json:"denied"`
	Blocks   []uint64 `json:"blocks"`
	// Failed is how many seconds of the step some part of the site failed.
	Failed []uint64 `json:"failed"`
	// Rules are those that denied or blocked in the span, by name.
	Rules []RuleSeries `json:"rules"`
}

// RuleSeries is the part of one rule.
type RuleSeries struct {
	Rule   string   `json:"rule"`
	Denied []uint64 `json:"denied"`
	Blocks []uint64 `json:"blocks"`
}

// Rates keeps two series and the minutes of a day. It is safe for concurrent use; the zero value is ready.
type Rates struct {
	mu      sync.Mutex // guards all
	fine    series     // steps of 5 seconds
	coarse  series     // of a minute
	day     day
	changes uint64 // of day
}

// series is the last steps and the counters at the end of the newest.
type series struct {
	last  int64 // the number of the step that is under way; 0 before the first
	ended Counters
	steps []Counters // what was added in each, the oldest first
}

const (
	fineStep   = 5
	coarseStep = 60
)

// Note looks at the counters if a step has ended since the last call. Call it once a
// second.
func (r *Rates) Note(now time.Time, counters func() Counters) {
	r.mu.Lock()
	defer r.mu.Unlock()
	number := now.Unix() / fineStep
	if r.fine.last == number {
		return
	}
	t := counters()
	r.fine.note(number, t)
	minute, began := now.Unix()/coarseStep, r.coarse.last
	r.coarse.note(minute, t)
	if began > 0 && minute > began {
		r.day = r.day.with(newDayMinute(minute-1, r.coarse.steps[len(r.coarse.steps)-1]))
		r.changes++
	}
}

// note ends the steps before one. Where several have passed, all that was added
// since counts for the last of them.
func (s *series) note(number int64, t Counters) {
	passed := number - s.last
	switch {
	case s.last == 0 || passed < 0: // the first, or the clock has stepped back
		*s = series{last: number, ended: t}
		return
	case passed == 0:
		return
	}
	for range min(passed-1, steps) {
		s.steps = append(s.steps, Counters{})
	}
	s.steps = append(s.steps, t.since(s.ended))
	s.steps = slices.Clone(s.steps[max(0, len(s.steps)-steps):])
	s.last, s.ended = number, t
}

// since returns what was added. A counter that is less than it was began again.
func (t Counters) since(before Counters) Counters {
	out := Counters{
		Requests: added(t.Requests, before.Requests), Denied: added(t.Denied, before.Denied), Blocks: added(t.Blocks, before.Blocks),
		Here: added(t.Here, before.Here), Failed: added(t.Failed, before.Failed), Monitor: t.Monitor,
		Rules: make(map[string]RuleCounters),
	}
	for _, name := range slices.Sorted(maps.Keys(t.Rules)) {
		one, was := t.Rules[name], before.Rules[name]
		diff := RuleCounters{added(one.Denied, was.Denied), added(one.Blocks, was.Blocks)}
		if diff != (RuleCounters{}) && len(out.Rules) < maxRules {
			out.Rules[name] = diff
		}
	}
	return out
}

func added(now, before uint64) uint64 {
	if now < before {
		return now
	}
	return now - before
}

// Minute is what a node did in the last whole steps of a minute.
type Minute struct {
	Blocks uint64  // that this node made
	Denied float64 // events a second
}

// Minute returns what the node did lately; nothing before the first step has ended.
func (r *Rates) Minute() (m Minute) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.fine.steps[max(0, len(r.fine.steps)-coarseStep/fineStep):]
	for _, step := range last {
		m.Blocks += step.Here
		m.Denied += float64(step.Denied) / float64(len(last)*fineStep)
	}
	return m
}

// Series returns the series of 5 seconds and that of minutes.
func (r *Rates) Series() []Series {
	r.mu.Lock()
	defer r.mu.Unlock()
	return []Series{r.fine.shown(fineStep), r.coarse.shown(coarseStep)}
}

func (s *series) shown(step int64) Series {
	n := len(s.steps)
	out := Series{Step: int(step), Requests: make([]uint64, n), Denied: make([]uint64, n), Blocks: make([]uint64, n), Failed: make([]uint64, n), Rules: []RuleSeries{}}
	if n > 0 {
		out.Monitor, out.Until = s.ended.Monitor, time.Unix(s.last*step, 0).UTC()
	}
	rules := make(map[string]RuleSeries)
	for i, t := range s.steps {
		out.Requests[i], out.Denied[i], out.Blocks[i], out.Failed[i] = t.Requests, t.Denied, t.Blocks, t.Failed
		for name, added := range t.Rules {
			rule, known := rules[name]
			if !known {
				rule = RuleSeries{name, make([]uint64, n), make([]uint64, n)}
				rules[name] = rule
			}
			rule.Denied[i], rule.Blocks[i] = added.Denied, added.Blocks
		}
	}
	out.Rules = slices.AppendSeq(out.Rules, maps.Values(rules))
	slices.SortFunc(out.Rules, func(a, b RuleSeries) int { return cmp.Compare(a.Rule, b.Rule) })
	return out
}
