package admin

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	"edgeguard"
	"edgeguard/admin/call"
)

// listAllowances sends the config's allowlist and the allowances made at run
// time, in one answer: they are few.
func (s *reads) listAllowances(w http.ResponseWriter, r *http.Request) *call.Problem {
	if _, p := call.ReadQuery(r); p != nil {
		return p
	}
	list := AllowanceList{Allowances: []Allowance{}}
	for _, prefix := range s.reader.Allowlist() {
		list.Allowances = append(list.Allowances, Allowance{Prefix: prefix, Source: AllowedByConfig})
	}
	for b := range s.reader.Allowances(s.reader.Now()) {
		list.Allowances = append(list.Allowances, NewAllowance(b))
	}
	slices.SortStableFunc(list.Allowances, func(a, b Allowance) int { return a.Prefix.Compare(b.Prefix) })
	call.SendJSON(w, http.StatusOK, list)
	return nil
}

// addAllowance puts an allowance in force.
func (s *changes) addAllowance(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request AllowRequest
	if p := call.ReadBody(w, r, &request); p != nil {
		return s.audited(r, Audit{Action: "allow"}, p)
	}
	record := Audit{Action: "allow", Target: call.Clip(request.Prefix)}
	b, p := s.planAllowance(&request)
	if p == nil {
		record.Detail = detail(b, request.Force)
		var err error
		b, err = s.operator.Allow(b, request.Force)
		p = refused(err)
	}
	if p == nil {
		call.SendJSON(w, http.StatusCreated, NewAllowance(b))
	}
	return s.audited(r, record, p)
}

// planAllowance makes an allowance of a request. One that would end sooner than
// the one in force is refused, as with blocks.
func (s *changes) planAllowance(request *AllowRequest) (b edgeguard.Block, p *call.Problem) {
	now := s.reader.Now()
	b = edgeguard.Block{Rule: edgeguard.ManualRule, Reason: request.Reason, Since: now, Until: edgeguard.Forever}
	if b.Prefix, p = call.ParsePrefix("prefix", request.Prefix); p != nil {
		return b, p
	}
	if request.For != "" || !request.Until.IsZero() {
		if b.Until, p = call.Until(now, request.For, request.Until, 0); p != nil {
			return b, p
		}
	}
	if p := call.CheckReason(request.Reason); p != nil {
		return b, p
	}
	if old, ok := exact(s.allowancesAround(b.Prefix), b.Prefix); ok && old.Until.After(b.Until) {
		return b, call.NewProblem(http.StatusConflict, "prefix", fmt.Sprintf("%s is already allowed %s", b.Prefix, lasts(old.Until)), "remove that first")
	}
	return b, nil
}

// removeAllowance takes an allowance back.
func (s *changes) removeAllowance(w http.ResponseWriter, r *http.Request) *call.Problem {
	record := Audit{Action: "disallow", Target: call.Clip(r.PathValue("prefix"))}
	lifted, p := s.disallow(r, &record)
	if p == nil {
		call.SendJSON(w, http.StatusOK, NewAllowance(lifted))
	}
	return s.audited(r, record, p)
}

func (s *changes) disallow(r *http.Request, record *Audit) (b edgeguard.Block, p *call.Problem) {
	q, p := call.ReadQuery(r, "reason")
	if p != nil {
		return b, p
	}
	if p := call.CheckReason(q["reason"]); p != nil {
		return b, p
	}
	prefix, p := call.ParsePrefix("prefix", r.PathValue("prefix"))
	if p != nil {
		return b, p
	}
	reason := q["reason"]
	if reason == "" {
		reason = "removed by hand"
	}
	record.Detail = reason
	b, ok := s.operator.Disallow(prefix, reason)
	if !ok {
		return b, s.notAllowed(prefix)
	}
	return b, nil
}

// notAllowed says why there is no allowance of a prefix to take back: it is the
// config's, or one around it holds it.
func (s *changes) notAllowed(prefix netip.Prefix) *call.Problem {
	for _, p := range s.reader.Allowlist() {
		if covers(p, prefix) {
			return call.NewProblem(http.StatusConflict, "prefix", fmt.Sprintf("%s is allowed by the config: allowlist %s", prefix, p), "edit the config and reload")
		}
	}
	if around := s.allowancesAround(prefix); len(around) > 0 {
		outer := around[len(around)-1].Prefix
		return call.NewProblem(http.StatusNotFound, "prefix", fmt.Sprintf("there is no allowance of exactly %s, but one of %s contains it", prefix, outer), "use "+outer.String())
	}
	return call.NewProblem(http.StatusNotFound, "prefix", prefix.String()+" is not allowed", "")
}

// allowancesAround returns the live allowances made at run time that cover all of
// a prefix, the longest last.
func (s *reads) allowancesAround(prefix netip.Prefix) (found []edgeguard.Block) {
	for b := range s.reader.Allowances(s.reader.Now()) {
		if covers(b.Prefix, prefix) {
			found = append(found, b)
		}
	}
	return found
}

// covers reports whether all of inner lies in outer.
func covers(outer, inner netip.Prefix) bool {
	return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}
