package admin

import (
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

// allowancesAround returns the live allowances made at run time that cover all of
// a prefix, the longest last.
func (v *View) allowancesAround(prefix netip.Prefix) (found []edgeguard.Block) {
	for b := range v.reader.Allowances(v.reader.Now()) {
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
