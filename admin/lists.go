package admin

import (
	"edgeguard"
	"net/http"
	"net/netip"
	"slices"
	"strconv"

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

// listAudit sends one page of the manual actions.
func (s *reads) listAudit(w http.ResponseWriter, r *http.Request) *call.Problem {
	q, p := call.ReadQuery(r, "limit", "cursor")
	if p != nil {
		return p
	}
	limit, p := q.Limit()
	if p != nil {
		return p
	}
	before := uint64(0)
	if text, given := q["cursor"]; given {
		var err error
		if before, err = strconv.ParseUint(text, 10, 64); err != nil || before == 0 {
			return call.NewProblem(http.StatusBadRequest, "cursor", strconv.Quote(call.Clip(text))+" is not a cursor", "use next of the previous page")
		}
	}
	page := AuditPage{}
	var next uint64
	if page.Audit, next = s.audits.Page(before, limit); next > 0 {
		page.Next = strconv.FormatUint(next, 10)
	}
	call.SendJSON(w, http.StatusOK, page)
	return nil
}

// listBlocks sends one page of the active blocks, filtered.
func (s *reads) listBlocks(w http.ResponseWriter, r *http.Request) *call.Problem {
	f, limit, p := ReadBlockFilter(r)
	if p != nil {
		return p
	}
	if ExportMedia(r) != "" {
		s.exportBlocks(w, r, f)
		return nil
	}
	call.SendJSON(w, http.StatusOK, s.BlockPage(r.Context(), f, limit))
	return nil
}

// getBlock sends the block of exactly a prefix.
func (s *reads) getBlock(w http.ResponseWriter, r *http.Request) *call.Problem {
	b, p := s.Standing(r.PathValue("prefix"))
	if p != nil {
		around := s.reader.ImportedAround(s.reader.Now(), b.Prefix)
		if b, p = exactly(around, b.Prefix, p); p != nil {
			return p
		}
	}
	call.SendJSON(w, http.StatusOK, s.reader.Active([]edgeguard.Block{b})[0])
	return nil
}

// exactly is exact, and returns p where there is none.
func exactly(found []edgeguard.Block, prefix netip.Prefix, p *call.Problem) (edgeguard.Block, *call.Problem) {
	if b, ok := exact(found, prefix); ok {
		return b, nil
	}
	return edgeguard.Block{}, p
}

// listHeld sends one page of the held blocks.
func (s *reads) listHeld(w http.ResponseWriter, r *http.Request) *call.Problem {
	q, p := call.ReadQuery(r, "limit", "cursor")
	if p != nil {
		return p
	}
	limit, p := q.Limit()
	if p != nil {
		return p
	}
	cursor, p := q.Prefix("cursor")
	if p != nil {
		return p
	}
	held := s.reader.Held()
	first, found := slices.BinarySearchFunc(held, cursor, comparePrefix)
	if found {
		first++
	}
	page := HeldPage{Held: append([]HeldBlock{}, held[first:min(first+limit, len(held))]...)}
	if first+limit < len(held) {
		page.Next = held[first+limit-1].Prefix.String()
	}
	if !cursor.IsValid() {
		page.Thresholds = heldThresholds(s.reader.Rules())
	}
	call.SendJSON(w, http.StatusOK, page)
	return nil
}
