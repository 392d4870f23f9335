package status

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/rules"
	"edgeguard/tuning"
)

const (
	// mostAdvised is of how many rules another threshold is told.
	mostAdvised = 3
	// adviseFor is for how long it is told after a day last spoke for it, so that it does not come and go.
	adviseFor = 24 * time.Hour
)

// advice is for which rules the last day speaks for another threshold. Each rule is looked at once an hour.
type advice struct {
	mu   sync.Mutex // guards all below
	hour int64
	next int // the rule that is looked at next
	of   map[string]advised
}

// advised is a threshold that is told, in place of the one in force, whose limit was this then.
type advised struct {
	threshold, limit uint32
	since, held      time.Time
}

// KeepAdvice looks at one rule of those that were not looked at in this hour. now is local.
func (s *Status) KeepAdvice(now time.Time) {
	g := s.from.Current()
	r := s.advice.nextRule(now, &g)
	if r == nil || r.Action == edgeguard.ActionShadow || r.Scope == rules.ScopeFleet && g.Config.Fleet != nil {
		return // it refuses nothing, or its limit is that of what other nodes count, too
	}
	m := &g.Config.Rules.Meters[r.Meter]
	windows, _ := s.from.History.Windows(now, kept(m), tuning.Length)
	if found, ok := tuning.Advise(tuning.ConfigOf(m), windows, r.Limit, r.Guard.Limit, r.People); ok {
		s.advice.note(now, r, found.Threshold)
	}
}

// nextRule returns the rule to look at; nil for none. With each hour it begins again, and forgets what has not held
// for long.
func (a *advice) nextRule(now time.Time, g *Generation) *rules.Rule {
	a.mu.Lock()
	defer a.mu.Unlock()
	if hour := now.Unix() / 3600; hour != a.hour {
		a.hour, a.next = hour, 0
		maps.DeleteFunc(a.of, func(name string, told advised) bool {
			return !told.stands(g.rule(name)) || now.Sub(told.held) >= adviseFor
		})
	}
	if a.next >= len(g.Config.Rules.Rules) {
		return nil
	}
	a.next++
	return &g.Config.Rules.Rules[a.next-1]
}

// note notes that the last day speaks for a threshold. What is told of a rule stays what it was.
func (a *advice) note(now time.Time, r *rules.Rule, threshold uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	told, before := a.of[r.Name]
	if !before || told.limit != r.Limit {
		told = advised{threshold: threshold, limit: r.Limit, since: now}
	}
	if told.held = now; a.of == nil {
		a.of = make(map[string]advised)
	}
	a.of[r.Name] = told
}

// rule returns a rule in force by name; nil for none.
func (g *Generation) rule(name string) *rules.Rule {
	all := g.Config.Rules.Rules
	if i := slices.IndexFunc(all, func(r rules.Rule) bool { return r.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// stands reports whether nobody has acted: by another threshold, or by a candidate of this one.
func (a advised) stands(r *rules.Rule) bool {
	return r != nil && r.Limit == a.limit && !slices.ContainsFunc(r.Candidates, func(c rules.Candidate) bool { return c.Threshold == a.threshold })
}

// advised returns what is told of thresholds, the oldest first.
func (s *Status) advised(g Generation) (needs []admin.Need) {
	s.advice.mu.Lock()
	defer s.advice.mu.Unlock()
	for name, told := range s.advice.of {
		if r := g.rule(name); told.stands(r) {
			needs = append(needs, admin.NewThreshold(name, told.threshold, r.Threshold, s.from.Clock.Epoch(told.since)))
		}
	}
	slices.SortFunc(needs, func(a, b admin.Need) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Rule, b.Rule)) })
	return needs[:min(len(needs), mostAdvised)]
}
