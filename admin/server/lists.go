package server

import (
	"net/http"
	"strconv"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/eventlog"
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
	before, p := readNumber(q)
	if p != nil {
		return p
	}
	call.SendJSON(w, http.StatusOK, s.Audits(r.Context(), before, limit))
	return nil
}

// listPast sends one page of what happened.
func (s *reads) listPast(w http.ResponseWriter, r *http.Request) *call.Problem {
	q, p := call.ReadQuery(r, "since", "until", "prefix", "rule", "kind", "dir", "limit", "cursor")
	if p != nil {
		return p
	}
	wanted := eventlog.Query{Rule: q["rule"], Newest: q["dir"] != "asc"}
	for name, to := range map[string]*time.Time{"since": &wanted.Since, "until": &wanted.Until} {
		if *to, p = q.Time(name); p != nil {
			return p
		}
	}
	if p := q.OneOf("dir", "asc", "desc"); p != nil {
		return p
	}
	if wanted.Within, p = q.Prefix("prefix"); p != nil {
		return p
	}
	if wanted.Kinds, p = readKinds(q["kind"]); p != nil {
		return p
	}
	cursor, p := readNumber(q)
	if p != nil {
		return p
	}
	if wanted.Newest {
		wanted.Before = cursor
	} else {
		wanted.After = cursor
	}
	limit, p := q.Limit()
	if p != nil {
		return p
	}
	call.SendJSON(w, http.StatusOK, s.Past(r.Context(), wanted, limit))
	return nil
}

// readNumber reads a cursor that is a number; 0 if none is given.
func readNumber(q call.Query) (uint64, *call.Problem) {
	text, given := q["cursor"]
	n, err := strconv.ParseUint(text, 10, 64)
	if given && (err != nil || n == 0) {
		return 0, call.NewProblem(http.StatusBadRequest, "cursor", strconv.Quote(call.Clip(text))+" is not a cursor", "use next of the previous page")
	}
	return n, nil
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
