package watch

import (
	"maps"
	"slices"
	"time"
)

// DayLength is how long minutes are kept.
const DayLength = 24 * time.Hour

// DayMinute is what a node did in a minute of the last day. A minute that is missing was not
// measured: the node did not run.
type DayMinute struct {
	Begin    time.Time `json:"begin"`
	Requests uint64    `json:"requests"`
	Denied   uint64    `json:"denied"`
	Blocks   uint64    `json:"blocks"`
	// Monitor says that nothing was refused: what is denied would have been.
	Monitor bool   `json:"monitor,omitempty"`
	Failed  uint64 `json:"failed,omitempty"` // seconds in which some part of the site failed
	// Rules are those that denied or blocked in it.
	Rules map[string]RuleCounters `json:"rules,omitempty"`
	// Measured is how many minutes another node says at once, from Begin on; 0 for one.
	Measured int `json:"-"`
}

// Span is steps of time of which other nodes are asked.
type Span struct {
	Step, Length int // minutes, and steps
	// Until is the number of the first step behind it, from 1970 on; 0 for a span that ends now.
	Until int64
}

func newDayMinute(number int64, c Counters) DayMinute {
	return DayMinute{Begin: time.Unix(number*coarseStep, 0).UTC(), Requests: c.Requests, Denied: c.Denied, Blocks: c.Blocks, Monitor: c.Monitor, Failed: c.Failed, Rules: c.Rules}
}

// day is the minutes of the last day, the oldest first. None of them changes, but is replaced.
type day []DayMinute

// with returns the day with a minute. One that is there already was measured in two parts.
func (d day) with(m DayMinute) day {
	at, found := slices.BinarySearchFunc(d, m, func(a, b DayMinute) int { return a.Begin.Compare(b.Begin) })
	if !found {
		d = slices.Insert(d, at, m)
	} else {
		was := d[at]
		rules := maps.Clone(was.Rules)
		for name, more := range m.Rules {
			if rules == nil {
				rules = make(map[string]RuleCounters)
			}
			rules[name] = RuleCounters{rules[name].Denied + more.Denied, rules[name].Blocks + more.Blocks}
		}
		m.Requests, m.Denied, m.Blocks, m.Failed, m.Rules = m.Requests+was.Requests, m.Denied+was.Denied, m.Blocks+was.Blocks, m.Failed+was.Failed, rules
		d[at] = m
	}
	return slices.DeleteFunc(d, func(other DayMinute) bool { return m.Begin.Sub(other.Begin).Abs() >= DayLength }) // clocks step
}

// Day returns the minutes of the last day that have ended, the oldest first.
func (r *Rates) Day() []DayMinute {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.day)
}

// KeptDay returns the same for the next run, with the minute that is under way.
func (r *Rates) KeptDay() []DayMinute {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := slices.Clone(r.day)
	if r.fine.last*fineStep > r.coarse.last*coarseStep { // some of it was measured
		d = d.with(newDayMinute(r.coarse.last, r.fine.ended.since(r.coarse.ended)))
	}
	return d
}

// RestoreMinute adds what an earlier run measured.
func (r *Rates) RestoreMinute(m DayMinute) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.day = r.day.with(m)
}

// EndDay has the minute that is under way be a change, for a node that ends.
func (r *Rates) EndDay() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
}

// Changes returns how often the day has changed.
func (r *Rates) Changes() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changes
}
