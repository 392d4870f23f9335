package server

import (
	"net/http"
	"net/netip"

	"edgeguard/admin"
	"edgeguard/admin/call"
)

// listAttacks sends the attacks of a time, of the last hour if none is given.
func (s *reads) listAttacks(w http.ResponseWriter, r *http.Request) *call.Problem {
	since, until, p := readSpan(r)
	if p != nil {
		return p
	}
	all := s.Attacks(r.Context(), since, until)
	call.SendJSON(w, http.StatusOK, admin.AttackList{Attacks: append([]admin.Attack{}, all...), AsOf: s.Reader().Now().UTC()})
	return nil
}

// getAttack sends an attack with its networks, and a page of its blocks.
func (s *reads) getAttack(w http.ResponseWriter, r *http.Request) *call.Problem {
	q, p := call.ReadQuery(r, "limit", "cursor")
	if p != nil {
		return p
	}
	limit, p := q.Limit()
	if p != nil {
		return p
	}
	var after netip.Prefix
	if text, given := q["cursor"]; given {
		if after, p = call.ParsePrefix("cursor", text); p != nil {
			return p
		}
	}
	detail, found := s.AttackDetail(r.Context(), r.PathValue("id"), after, limit)
	if !found {
		return call.NewProblem(http.StatusNotFound, "id", "no attack "+call.Clip(r.PathValue("id"))+" is kept", "GET /api/v1/attacks lists them")
	}
	call.SendJSON(w, http.StatusOK, detail)
	return nil
}
