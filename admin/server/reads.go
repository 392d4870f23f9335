package server

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/admin/watch"
)

// reads answers what changes nothing. It has no Operator, so that a handler of
// its own cannot change anything.
type reads struct{ *admin.View }

// getHealth says that the process runs and answers.
func (s *reads) getHealth(w http.ResponseWriter, _ *http.Request) *call.Problem {
	call.SendJSON(w, http.StatusOK, admin.Health{OK: true})
	return nil
}

// getReady reports whether the node has restored its state and listens. A node that is
// cut off from its fleet stays ready: it decides alone, and a balancer that
// took all nodes out because their Redis is away would make it worse. What else
// degrades it is named by the kinds of the alarms, with the sentences in the
// status: any client may ask here, so the reason contains no address.
func (s *reads) getReady(w http.ResponseWriter, _ *http.Request) *call.Problem {
	stats := s.Reader().Stats()
	status := http.StatusOK
	if !stats.Ready {
		status = http.StatusServiceUnavailable
	}
	reason := degradedBy(&stats)
	degraded := reason != ""
	if !stats.Ready && !degraded {
		reason = "starting or ending"
	}
	call.SendJSON(w, status, admin.Readiness{Ready: stats.Ready, Degraded: degraded, Reason: reason})
	return nil
}

// degradedBy returns what degrades the node, in words without an address; "" if
// nothing does.
func degradedBy(stats *admin.Stats) string {
	if stats.Fleet.Lost() != "" {
		return "fleet: " + stats.Fleet.Trouble
	}
	var kinds []string // words that name no address
	for _, a := range stats.Alarms() {
		kinds = append(kinds, a.Kind)
	}
	slices.Sort(kinds)
	if kinds = slices.Compact(kinds); len(kinds) > 0 {
		return "alarms: " + strings.Join(kinds, ", ")
	}
	return ""
}

func (s *reads) getStatus(w http.ResponseWriter, _ *http.Request) *call.Problem {
	call.SendJSON(w, http.StatusOK, s.Stats())
	return nil
}

// explain sends the state of an address.
func (s *reads) explain(w http.ResponseWriter, r *http.Request) *call.Problem {
	addr, p := call.ParseAddr("address", r.PathValue("address"))
	if p != nil {
		return p
	}
	call.SendJSON(w, http.StatusOK, s.Explanation(r.Context(), addr))
	return nil
}

// explainKey sends the state of a key without an address.
func (s *reads) explainKey(w http.ResponseWriter, r *http.Request) *call.Problem {
	q, p := call.ReadQuery(r, "with")
	if p != nil {
		return p
	}
	x, found := s.ExplainKey(r.Context(), r.PathValue("name"), q["with"])
	if !found {
		return call.NewProblem(http.StatusNotFound, "name", "no rule "+call.Clip(r.PathValue("name"))+" has keys without an address", "GET /api/v1/rules lists them: their key begins with everybody")
	}
	call.SendJSON(w, http.StatusOK, x)
	return nil
}

// getRates sends what the node did lately.
func (s *reads) getRates(w http.ResponseWriter, _ *http.Request) *call.Problem {
	call.SendJSON(w, http.StatusOK, admin.RateList{AsOf: s.Reader().Now().UTC(), Series: s.Reader().Rates()})
	return nil
}

// readSpan returns the times since and until of a query that has no others; zero for those not given.
func readSpan(r *http.Request) (since, until time.Time, p *call.Problem) {
	q, p := call.ReadQuery(r, "since", "until")
	if p == nil {
		since, p = q.Time("since")
	}
	if p == nil {
		until, p = q.Time("until")
	}
	return since, until, p
}

// getDay sends what the node did in each minute of a part of the last day.
func (s *reads) getDay(w http.ResponseWriter, r *http.Request) *call.Problem {
	since, until, p := readSpan(r)
	if p != nil {
		return p
	}
	minutes := slices.DeleteFunc(append([]watch.DayMinute{}, s.Reader().Day()...), func(m watch.DayMinute) bool {
		return m.Begin.Before(since) || !until.IsZero() && !m.Begin.Before(until)
	})
	call.SendJSON(w, http.StatusOK, admin.RateDay{AsOf: s.Reader().Now().UTC(), Minutes: minutes})
	return nil
}

func (s *reads) listRules(w http.ResponseWriter, _ *http.Request) *call.Problem {
	call.SendJSON(w, http.StatusOK, admin.RuleList{Rules: append([]admin.Rule{}, s.Reader().Rules()...), Unused: s.Reader().Unused()})
	return nil
}

// getRule sends a rule with the distribution of its counts.
func (s *reads) getRule(w http.ResponseWriter, r *http.Request) *call.Problem {
	limit, p := readLimit(r)
	if p != nil {
		return p
	}
	detail, _, found := s.RuleDetail(r.Context(), r.PathValue("name"), limit)
	switch {
	case r.Context().Err() != nil: // it has gone
	case !found:
		return noRule(r.PathValue("name"))
	default:
		call.SendJSON(w, http.StatusOK, detail)
	}
	return nil
}

// getOutcome sends what a threshold would do.
func (s *reads) getOutcome(w http.ResponseWriter, r *http.Request) *call.Problem {
	q, p := call.ReadQuery(r, "threshold")
	if p != nil {
		return p
	}
	threshold, p := readThreshold(q["threshold"])
	if p != nil {
		return p
	}
	outcome, found := s.Outcome(r.Context(), r.PathValue("name"), threshold)
	switch {
	case r.Context().Err() != nil: // it has gone
	case !found:
		return noRule(r.PathValue("name"))
	default:
		call.SendJSON(w, http.StatusOK, outcome)
	}
	return nil
}

func noRule(name string) *call.Problem {
	return call.NewProblem(http.StatusNotFound, "name", "unknown rule "+call.Clip(name), "GET /api/v1/rules lists them")
}

// getTop sends the keys nearest to a limit and the newest blocks.
func (s *reads) getTop(w http.ResponseWriter, r *http.Request) *call.Problem {
	limit, p := readLimit(r)
	if p != nil {
		return p
	}
	keys := s.Nearest(r.Context(), limit)
	if r.Context().Err() == nil {
		call.SendJSON(w, http.StatusOK, admin.Top{Keys: keys, Newest: s.Newest(limit)})
	}
	return nil
}

func readLimit(r *http.Request) (int, *call.Problem) {
	q, p := call.ReadQuery(r, "limit")
	if p != nil {
		return 0, p
	}
	return q.Limit()
}

// getEvidence sends what a key had counted when this node blocked a prefix.
func (s *reads) getEvidence(w http.ResponseWriter, r *http.Request) *call.Problem {
	prefix, p := call.ParsePrefix("prefix", r.PathValue("prefix"))
	if p != nil {
		return p
	}
	e, why, fix := s.Evidence(prefix)
	if why != "" {
		return call.NewProblem(http.StatusNotFound, "prefix", why, fix)
	}
	call.SendJSON(w, http.StatusOK, e)
	return nil
}

// getSamples sends some of the requests of a key.
func (s *reads) getSamples(w http.ResponseWriter, r *http.Request) *call.Problem {
	prefix, p := call.ParsePrefix("prefix", r.PathValue("prefix"))
	if p != nil {
		return p
	}
	list, p := s.Samples(access.CallerOf(r).Role, prefix)
	if p == nil {
		call.SendJSON(w, http.StatusOK, list)
	}
	return p
}
