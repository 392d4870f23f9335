package admin

import (
	"net/http"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// changes answers what an operator does by hand.
type changes struct {
	*reads
	operator Operator
	audit    func(Audit)
}

// audited reports a manual action and its end, and returns the problem.
func (s *changes) audited(r *http.Request, record Audit, p *call.Problem) *call.Problem {
	record.Time, record.Who, record.Result = s.reader.Now(), access.CallerOf(r).Who, "ok"
	if p != nil {
		record.Result = p.Error()
	}
	s.audits.add(record)
	s.audit(record)
	return p
}

// reload has the config read again.
func (s *changes) reload(w http.ResponseWriter, r *http.Request) *call.Problem {
	var p *call.Problem
	if err := s.operator.Reload(r.Context()); err != nil {
		p = call.NewProblem(http.StatusUnprocessableEntity, "", err.Error(), "the previous config stays in use; fix the file and reload")
	} else {
		call.SendJSON(w, http.StatusOK, Reloaded{OK: true})
	}
	return s.audited(r, Audit{Action: "reload"}, p)
}
