package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"edgeguard"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/tuning"
)

// ruleAnswers answers the requests of the API for changes of rules.
type ruleAnswers[R any] struct{ Changes *RuleChanges[R] }

// body reads a request's JSON. What cannot be read is recorded as a change that
// failed.
func (a ruleAnswers[R]) body(w http.ResponseWriter, r *http.Request, action string, into any) *call.Problem {
	p := call.ReadBody(w, r, into)
	if p == nil {
		return nil
	}
	return a.refused(r, action, p)
}

// refused records a change that failed.
func (a ruleAnswers[R]) refused(r *http.Request, action string, p *call.Problem) *call.Problem {
	return a.Changes.audited(access.CallerOf(r), action, call.Clip(r.PathValue("name")), func(*string) *call.Problem { return p })
}

// SetThreshold answers PATCH of a rule.
func (a ruleAnswers[R]) SetThreshold(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request ThresholdRequest
	if p := a.body(w, r, "threshold", &request); p != nil {
		return p
	}
	rule, p := a.Changes.SetThreshold(r.Context(), access.CallerOf(r), r.PathValue("name"), request)
	return tuned(w, rule, p)
}

// EndOverlay answers DELETE of a rule's overlay.
func (a ruleAnswers[R]) EndOverlay(w http.ResponseWriter, r *http.Request) *call.Problem {
	q, p := call.ReadQuery(r, "scope", "force")
	if p = cmp.Or(p, q.OneOf("scope", ScopeNode, ScopeFleet), q.OneOf("force", "true", "false")); p != nil {
		return a.refused(r, "end overlay", p)
	}
	if q["scope"] == ScopeFleet {
		rule, p := a.Changes.EndFleet(access.CallerOf(r), r.PathValue("name"), q["force"] == "true")
		return tuned(w, rule, p)
	}
	rule, p := a.Changes.EndOverlay(access.CallerOf(r), r.PathValue("name"))
	return tuned(w, rule, p)
}

// AddCandidate answers PUT of a rule's candidate.
func (a ruleAnswers[R]) AddCandidate(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request CandidateRequest
	if p := a.body(w, r, "add candidate", &request); p != nil {
		return p
	}
	threshold, p := readThreshold(r.PathValue("threshold"))
	if p != nil {
		return p
	}
	rule, p := a.Changes.AddCandidate(access.CallerOf(r), r.PathValue("name"), threshold, request)
	return tuned(w, rule, p)
}

// RemoveCandidate answers DELETE of a rule's candidate.
func (a ruleAnswers[R]) RemoveCandidate(w http.ResponseWriter, r *http.Request) *call.Problem {
	threshold, p := readThreshold(r.PathValue("threshold"))
	if p != nil {
		return p
	}
	rule, p := a.Changes.RemoveCandidate(access.CallerOf(r), r.PathValue("name"), threshold)
	return tuned(w, rule, p)
}

// tuned sends the rule after a change, or returns why it was not made.
func tuned(w http.ResponseWriter, rule any, p *call.Problem) *call.Problem {
	if p == nil {
		call.SendJSON(w, http.StatusOK, rule)
	}
	return p
}

// readThreshold reads a threshold to try.
func readThreshold(text string) (uint32, *call.Problem) {
	threshold, err := strconv.ParseUint(text, 10, 32)
	if err != nil || threshold < 1 || threshold > edgeguard.MaxLimit {
		return 0, call.NewProblem(http.StatusBadRequest, "threshold", strconv.Quote(call.Clip(text))+" is not a threshold", fmt.Sprintf("use a number from 1 to %d", edgeguard.MaxLimit))
	}
	return uint32(threshold), nil
}

// historyHandler answers GET /api/v1/rules/{name}/history by a function that returns what
// the threshold in force and another one would have done; false if there is no such
// rule.
func historyHandler(of func(name string, hours int, tried uint32) (RuleHistory, bool), missing func(name string) *call.Problem) func(http.ResponseWriter, *http.Request) *call.Problem {
	return func(w http.ResponseWriter, r *http.Request) *call.Problem {
		q, p := call.ReadQuery(r, "hours", "threshold")
		if p != nil {
			return p
		}
		hours, tried := uint32(tuning.Length/time.Hour), uint32(0)
		if _, given := q["hours"]; given {
			if hours, p = q.Number("hours", hours); p != nil {
				return p
			}
		}
		if _, given := q["threshold"]; given {
			if tried, p = readThreshold(q["threshold"]); p != nil {
				return p
			}
		}
		h, found := of(r.PathValue("name"), int(hours), tried)
		if !found {
			return missing(r.PathValue("name"))
		}
		call.SendJSON(w, http.StatusOK, h)
		return nil
	}
}
