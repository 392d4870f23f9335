package admin

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/admin/watch"
	"edgeguard/blocklist"
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
	// Nodes are the other nodes of the fleet whose figures are in the sums, Silent those that did
	// not say theirs. Both are empty for a span of which no node keeps anything.
	Nodes  []string `json:"nodes,omitempty"`
	Silent []string `json:"silent,omitempty"`
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
func (v *View) Hours(ctx context.Context, from, until time.Time) Hours {
	now := v.reader.Now()
	if until.IsZero() || until.After(now) {
		until = now
	}
	if from.IsZero() || !from.Before(until) {
		from = until.Add(-time.Hour)
	}
	day := v.reader.Day()
	days := [][]watch.DayMinute{day}
	var nodes, silent []string
	if now.Sub(until) < watch.DayLength {
		asked := spanToAsk(from, until, now)
		for _, n := range v.reader.FleetNodes(asked) {
			if n.Name == v.events.node || !n.Alive {
				continue
			}
			var steps []watch.DayMinute
			said := n.Figures != nil
			if said {
				steps, said = n.Figures.Spans[asked]
			}
			if said {
				nodes, days = append(nodes, n.Name), append(days, steps)
			} else {
				silent = append(silent, n.Name)
			}
		}
	}
	h := newHours(days, from, until, now)
	h.Nodes, h.Silent = nodes, silent
	h.Marks = v.marksOf(ctx, &h, day)
	h.Started = v.reader.Stats().Started.UTC()
	return h
}

// stepOf returns the length of a step of a span.
func stepOf(span time.Duration) time.Duration {
	for _, step := range hoursSteps {
		if span <= mostSteps*step {
			return step
		}
	}
	return hoursSteps[len(hoursSteps)-1]
}

// spanToAsk returns what other nodes are asked of a span: the same as long as it ends now.
func spanToAsk(from, until, now time.Time) watch.Span {
	step := stepOf(until.Sub(from))
	asked := watch.Span{Step: int(step / time.Minute), Length: min(int((until.Sub(from)+step-1)/step), mostSteps) + 1}
	if now.Sub(until) >= time.Minute {
		asked.Until = until.Add(step-1).Unix() / int64(step/time.Second)
	}
	return asked
}

// newHours adds the minutes of nodes up by steps.
func newHours(days [][]watch.DayMinute, from, until, now time.Time) Hours {
	step := stepOf(until.Sub(from))
	h := Hours{AsOf: now.UTC(), Step: int(step / time.Second), Begin: from.UTC().Truncate(step), Until: until.UTC().Truncate(time.Minute), Rules: []HoursRule{}, Marks: []Mark{}}
	if behind := h.Until.Sub(h.Until.Truncate(step)); behind > 0 || !h.Until.After(h.Begin) {
		h.Until = h.Until.Add(step - behind)
	}
	n := int(h.Until.Sub(h.Begin) / step)
	h.Minutes, h.Requests, h.Refused, h.Blocks, h.Failed = make([]int, n), make([]uint64, n), make([]uint64, n), make([]uint64, n), make([]uint64, n)
	rules, enforced := make(map[string]*HoursRule), false
	for _, day := range days {
		known := make([]int, n)
		for i := range day {
			m := &day[i]
			if m.Begin.Before(h.Begin) || !m.Begin.Before(h.Until) {
				continue
			}
			at := int(m.Begin.Sub(h.Begin) / step)
			known[at] += max(m.Measured, 1)
			h.Minutes[at] = max(h.Minutes[at], known[at])
			h.Monitor, enforced = h.Monitor || m.Monitor, enforced || !m.Monitor
			h.add(m, at, rules)
		}
	}
	h.Monitor = h.Monitor && !enforced
	h.keepRules(slices.Collect(maps.Values(rules)))
	return h
}

// add adds a minute to a step.
func (h *Hours) add(m *watch.DayMinute, at int, rules map[string]*HoursRule) {
	h.Requests[at] += m.Requests
	h.Refused[at] += m.Denied
	h.Blocks[at] += m.Blocks
	h.Failed[at] += m.Failed
	for name, one := range m.Rules {
		if one.Denied == 0 {
			continue
		}
		if rules[name] == nil {
			rules[name] = &HoursRule{name, make([]uint64, len(h.Minutes))}
		}
		rules[name].Refused[at] += one.Denied
	}
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

// Enforcing is what a node in mode monitor would have refused in the last day.
type Enforcing struct {
	// Since is the first minute that is known.
	Since    time.Time `json:"since"`
	Requests uint64    `json:"requests"`
	Refused  uint64    `json:"refused"` // would have been
	// Rules are all of them, the one that refused most first. Figures of their blocks are theirs.
	Rules []RuleRefusals `json:"rules"`
	// Most are the blocks in force of which most would have been refused.
	Most []ActiveBlock `json:"most"`
	// Fix is how to enforce.
	Fix string `json:"fix"`
}

// RuleRefusals is what one rule refused.
type RuleRefusals struct {
	Rule    string `json:"rule"`
	Refused uint64 `json:"refused"`
}

const (
	// mostHit is how many blocks Enforcing has, of the newest lookedAt.
	mostHit  = 10
	lookedAt = 10_000
)

// Enforcing returns what enforcing would have refused in the last day; false of a node that
// enforces, and if ctx ended first.
func (v *View) Enforcing(ctx context.Context) (e Enforcing, ok bool) {
	if !v.reader.Stats().Monitor {
		return e, false
	}
	most, _, ok := watch.Look(ctx, v.scans, scanned{refused: true, guest: v.discreet}, v.mostRefused)
	e = Enforcing{Rules: []RuleRefusals{}, Most: most, Fix: "set mode: enforce in the config, then run edgeguard check and edgeguard reload"}
	by := make(map[string]uint64)
	for _, m := range v.reader.Day() {
		if !m.Monitor {
			continue
		}
		if e.Since.IsZero() {
			e.Since = m.Begin
		}
		e.Requests, e.Refused = e.Requests+m.Requests, e.Refused+m.Denied
		for name, one := range m.Rules {
			by[name] += one.Denied
		}
	}
	for name, n := range by {
		if n > 0 {
			e.Rules = append(e.Rules, RuleRefusals{name, n})
		}
	}
	slices.SortFunc(e.Rules, func(a, b RuleRefusals) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(a.Rule, b.Rule))
	})
	return e, ok
}

// mostRefused returns the blocks of which most was refused, or would have been.
func (v *View) mostRefused(now time.Time) []ActiveBlock {
	var newest []edgeguard.Block
	for b := range v.reader.Newest(now, blocklist.Only{}, blocklist.Place{}) {
		if newest = append(newest, b); len(newest) == lookedAt {
			break
		}
	}
	refused := func(b *ActiveBlock) uint32 {
		if b.Refused == nil {
			return 0
		}
		return *b.Refused
	}
	all := slices.DeleteFunc(v.reader.Active(newest), func(b ActiveBlock) bool { return refused(&b) == 0 })
	slices.SortStableFunc(all, func(a, b ActiveBlock) int { return cmp.Compare(refused(&b), refused(&a)) })
	return slices.Clone(all[:min(len(all), mostHit)])
}
