package detector

import (
	"sync/atomic"
	"time"

	"edgeguard/rules"
)

// rule is a compiled rule with the tallies of its candidates.
type rule struct {
	*rules.Rule
	tallies []*tally // one a candidate
	asked   bool     // it denies no recorded event for what that itself counts, see Config.Past
	near    uint32   // the count from which on some requests are sampled; the greatest number if none is
}

// tally counts what a candidate threshold would have done.
type tally struct {
	since     time.Time
	over      atomic.Uint64 // events over the candidate's limit
	crossings atomic.Uint64 // times that a key went from under to over
}

// Tally is what one candidate threshold would have done so far.
type Tally struct {
	rules.Candidate
	// Since is when counting began, local.
	Since time.Time
	// Over is how many events were over the candidate's limit: what it would
	// have refused as a `deny` rule.
	Over uint64
	// Crossings is how often a key went over it.
	Crossings uint64
}

func newRule(c *Config, r *rules.Rule) rule {
	out := rule{Rule: r, tallies: make([]*tally, len(r.Candidates)), near: nearOf(c, r), asked: c.Past && deniesByAnswer(r, &c.Rules.Meters[r.Meter])}
	for i, candidate := range r.Candidates {
		if out.tallies[i] = formerTally(c, r, candidate); out.tallies[i] == nil {
			out.tallies[i] = &tally{since: c.Began}
		}
	}
	return out
}

// countCandidates counts events for each candidate.
func (r *rule) countCandidates(n count, events uint32) {
	for i := range r.tallies {
		limit := r.Candidates[i].Limit
		if n.count <= limit {
			continue
		}
		r.tallies[i].over.Add(uint64(events))
		if n.crossed(limit) {
			r.tallies[i].crossings.Add(1)
		}
	}
}

// Tallies returns what the candidates of rule i, by its place in the config,
// would have done so far.
func (d *Detector) Tallies(i int) []Tally {
	r := &d.rules[i]
	out := make([]Tally, len(r.tallies))
	for k := range r.tallies {
		t := r.tallies[k]
		out[k] = Tally{Candidate: r.Candidates[k], Since: t.since, Over: t.over.Load(), Crossings: t.crossings.Load()}
	}
	return out
}
