package server

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/tuning"
)

// ruleAnswers answers the requests of the API for changes of rules.
type ruleAnswers struct{ changes *admin.Changes }

// body reads a request's JSON. What cannot be read is recorded as a change that
// failed.
func (a ruleAnswers) body(w http.ResponseWriter, r *http.Request, action string, into any) *call.Problem {
	p := call.ReadBody(w, r, into)
	if p == nil {
		return nil
	}
	return a.refused(r, action, p)
}

// refused records a change that failed.
func (a ruleAnswers) refused(r *http.Request, action string, p *call.Problem) *call.Problem {
	return a.changes.Audited(access.CallerOf(r), action, call.Clip(r.PathValue("name")), func(*string) *call.Problem { return p })
}

// setThreshold answers PATCH of a rule.
func (a ruleAnswers) setThreshold(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request admin.ThresholdRequest
	if p := a.body(w, r, "threshold", &request); p != nil {
		return p
	}
	rule, p := a.changes.SetThreshold(r.Context(), access.CallerOf(r), r.PathValue("name"), request)
	return answered(w, http.StatusOK, rule, p)
}

// endOverlay answers DELETE of a rule's overlay.
func (a ruleAnswers) endOverlay(w http.ResponseWriter, r *http.Request) *call.Problem {
	q, p := call.ReadQuery(r, "scope", "force")
	if p = cmp.Or(p, q.OneOf("scope", admin.ScopeNode, admin.ScopeFleet), q.OneOf("force", "true", "false")); p != nil {
		return a.refused(r, "end overlay", p)
	}
	if q["scope"] == admin.ScopeFleet {
		rule, p := a.changes.EndFleet(access.CallerOf(r), r.PathValue("name"), q["force"] == "true")
		return answered(w, http.StatusOK, rule, p)
	}
	rule, p := a.changes.EndOverlay(access.CallerOf(r), r.PathValue("name"))
	return answered(w, http.StatusOK, rule, p)
}

// addCandidate answers PUT of a rule's candidate.
func (a ruleAnswers) addCandidate(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request admin.CandidateRequest
	if p := a.body(w, r, "add candidate", &request); p != nil {
		return p
	}
	threshold, p := readThreshold(r.PathValue("threshold"))
	if p != nil {
		return p
	}
	rule, p := a.changes.AddCandidate(access.CallerOf(r), r.PathValue("name"), threshold, request)
	return answered(w, http.StatusOK, rule, p)
}

// removeCandidate answers DELETE of a rule's candidate.
func (a ruleAnswers) removeCandidate(w http.ResponseWriter, r *http.Request) *call.Problem {
	threshold, p := readThreshold(r.PathValue("threshold"))
	if p != nil {
		return p
	}
	rule, p := a.changes.RemoveCandidate(access.CallerOf(r), r.PathValue("name"), threshold)
	return answered(w, http.StatusOK, rule, p)
}

// readThreshold reads a threshold to try.
func readThreshold(text string) (uint32, *call.Problem) {
	threshold, err := strconv.ParseUint(text, 10, 32)
	if err != nil || threshold < 1 || threshold > edgeguard.MaxLimit {
		return 0, call.NewProblem(http.StatusBadRequest, "threshold", strconv.Quote(call.Clip(text))+" is not a threshold", fmt.Sprintf("use a number from 1 to %d", edgeguard.MaxLimit))
	}
	return uint32(threshold), nil
}

// getHistory sends what the threshold in force and another one would have done.
func (s *reads) getHistory(w http.ResponseWriter, r *http.Request) *call.Problem {
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
	h, found := s.History(r.PathValue("name"), int(hours), tried)
	if !found {
		return noRule(r.PathValue("name"))
	}
	call.SendJSON(w, http.StatusOK, h)
	return nil
}
