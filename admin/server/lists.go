package server

import (
	"net/http"
	"strconv"

	"edgeguard/admin"
	"edgeguard/admin/call"
)

// listAllowances sends the config's allowlist and the allowances made at run
// time, in one answer: they are few.
func (s *reads) listAllowances(w http.ResponseWriter, r *http.Request) *call.Problem {
	if _, p := call.ReadQuery(r); p != nil {
		return p
	}
	call.SendJSON(w, http.StatusOK, s.Allowances())
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
	page := admin.AuditPage{}
	var next uint64
	if page.Audit, next = s.Audits().Page(before, limit); next > 0 {
		page.Next = strconv.FormatUint(next, 10)
	}
	call.SendJSON(w, http.StatusOK, page)
	return nil
}

// listBlocks sends one page of the active blocks, filtered.
func (s *reads) listBlocks(w http.ResponseWriter, r *http.Request) *call.Problem {
	f, limit, p := admin.ReadBlockFilter(r)
	if p != nil {
		return p
	}
	if wantedMedia(r) != "" {
		s.exportBlocks(w, r, f)
		return nil
	}
	call.SendJSON(w, http.StatusOK, s.BlockPage(r.Context(), f, limit))
	return nil
}

// getBlock sends the block of exactly a prefix.
func (s *reads) getBlock(w http.ResponseWriter, r *http.Request) *call.Problem {
	b, p := s.ActiveBlock(r.PathValue("prefix"))
	return answered(w, http.StatusOK, b, p)
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
	call.SendJSON(w, http.StatusOK, s.HeldPage(cursor, limit))
	return nil
}
