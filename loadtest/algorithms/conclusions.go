package algorithms

import (
	"fmt"
	"slices"

	"edgeguard/loadtest/limiter/judge"
)

// total adds up a limiter's sentences over the scenarios that are wanted.
func (r *Result) total(k int, wanted func(*Played) bool) judge.Sentence {
	var t judge.Sentence
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if !wanted(s) {
			continue
		}
		v := &s.Rows[k]
		t.Requests += v.Requests
		t.Allowed += v.Allowed
		t.Over += v.Over
		t.RefusedFalsely += v.RefusedFalsely
		t.Innocent += v.Innocent
		t.Least, t.Greatest = min(t.Least, v.Least), max(t.Greatest, v.Greatest)
		t.Beyond += v.Beyond
		t.Asked += v.Asked
		t.Silent += v.Silent
		t.Early += v.Early
		t.Late += v.Late
		t.EarlyS, t.LateS = max(t.EarlyS, v.EarlyS), max(t.LateS, v.LateS)
	}
	return t
}

// limiterAt finds a limiter's column.
func (r *Result) limiterAt(name string) int {
	return slices.IndexFunc(r.Limiters, func(l LimiterInfo) bool { return l.Name == name })
}

// conclusions say what the figures say of slots against an exact log.
func (r *Result) conclusions() []string {
	exact, one, guarded := r.limiterAt("sliding-log"), r.limiterAt(ring), r.limiterAt("ring-0.95")
	fixed, two := r.limiterAt("fixed-window"), r.limiterAt("two-counters")
	usual := func(s *Played) bool { return s.Nodes == 1 }
	beside := func(k int) string {
		of, more := r.total(exact, usual), r.total(k, usual)
		return fmt.Sprintf("%+d (%+.1f %%)", more.Allowed-of.Allowed, 100*float64(more.Allowed-of.Allowed)/float64(of.Allowed))
	}
	out := []string{fmt.Sprintf("Of %d requests on one node the exact log admits %d. The ring admits %s with guard 1, %s with guard 0.95; a fixed window %s; two counters %s.",
		r.total(exact, usual).Requests, r.total(exact, usual).Allowed, beside(one), beside(guarded), beside(fixed), beside(two))}
	most, shortest := uint64(0), 100.0
	for i := range r.Scenarios {
		if s := &r.Scenarios[i]; usual(s) {
			v := &s.Rows[one]
			most = max(most, uint64(v.Most)*100/uint64(v.Limit))
			if v.ShortestMS >= 0 {
				shortest = min(shortest, float64(v.ShortestMS)/float64(s.WindowS)/10)
			}
		}
	}
	return append(out,
		fmt.Sprintf("Does anybody need a rule with an exact log? Who knows the slots and waits for one to leave gets %d %% of the limit past the ring in one window, "+
			"but more than the limit in no less than %.1f %% of a window: any 60 slots have a limit and no more, so over time he gets nothing by it. "+
			"So no rule against abuse needs one. A quota does, of which each request more costs money: that is no limit of a rate.", most, shortest),
		"The guard refuses by intent what the exact log would admit: up to a twentieth of the limit to each client who asks for all of it.",
		"Without a shared count each node admits a whole limit (spread): that is the same for all here, and what the fleet is for.")
}
