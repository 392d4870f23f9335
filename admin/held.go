package admin

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"edgeguard/admin/call"
)

// HeldBlock is a record of the fleet that is not in force here: a block, an allowance
// or an unblock that an operator has to confirm, or that waits for room.
type HeldBlock struct {
	Block
	// Share is the part of the last five minutes' requests that it alone would
	// have refused when it came, at Held.
	Share float64   `json:"share"`
	Held  time.Time `json:"held"`
	Kind  string    `json:"kind"` // block, allowance or unblock
	Why   string    `json:"why"`  // too_much, wide, allowance or pace
}

// HeldPage is one page of the blocks that wait, in the order of their prefixes.
type HeldPage struct {
	Held []HeldBlock `json:"held"`
	// Next is the cursor of the next page, empty on the last.
	Next string `json:"next,omitempty"`
}

// ConfirmRequest confirms held blocks: those of the prefixes, or all.
type ConfirmRequest struct {
	Prefixes []string `json:"prefixes,omitempty"`
	All      bool     `json:"all,omitempty"`
}

// Confirmed is how many blocks a confirmation put in force.
type Confirmed struct {
	Confirmed int `json:"confirmed"`
}

// TooMuchError is why Operator.Block refuses a block that was not forced.
type TooMuchError struct {
	Prefix       netip.Prefix
	Share, Limit float64
}

// Error names the share.
func (e *TooMuchError) Error() string {
	return fmt.Sprintf("%s would refuse %.0f %% of the last 5 minutes' requests here, more than the limit of %.0f %%", e.Prefix, 100*e.Share, 100*e.Limit)
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
	call.SendJSON(w, http.StatusOK, page)
	return nil
}

// confirm puts held blocks in force.
func (s *changes) confirm(w http.ResponseWriter, r *http.Request) *call.Problem {
	var request ConfirmRequest
	if p := call.ReadBody(w, r, &request); p != nil {
		return s.audited(r, Audit{Action: "confirm"}, p)
	}
	prefixes, p := s.meant(r, &request)
	if p != nil {
		return p
	}
	for i, prefix := range prefixes {
		p := s.confirmOne(prefix, request.All)
		if p = s.audited(r, Audit{Action: "confirm", Target: prefix.String()}, p); p != nil {
			p.Detail = fmt.Sprintf("%s; %d of %d were confirmed before it", p.Detail, i, len(prefixes))
			return p
		}
	}
	call.SendJSON(w, http.StatusOK, Confirmed{len(prefixes)})
	return nil
}

// meant returns the prefixes that a request is about.
func (s *changes) meant(r *http.Request, request *ConfirmRequest) (prefixes []netip.Prefix, p *call.Problem) {
	record := Audit{Action: "confirm"}
	if request.All == (len(request.Prefixes) > 0) {
		return nil, s.audited(r, record, call.NewProblem(http.StatusBadRequest, "prefixes", "exactly one of prefixes and all is required", "list prefixes, or set all"))
	}
	for _, text := range request.Prefixes {
		prefix, p := call.ParsePrefix("prefixes", text)
		if p != nil {
			record.Target = call.Clip(text)
			return nil, s.audited(r, record, p)
		}
		prefixes = append(prefixes, prefix)
	}
	if request.All {
		for _, b := range s.reader.Held() {
			prefixes = append(prefixes, b.Prefix)
		}
	}
	return prefixes, nil
}

// waits reports whether a block of exactly this prefix awaits confirmation.
func (s *reads) waits(prefix netip.Prefix) bool {
	_, found := slices.BinarySearchFunc(s.reader.Held(), prefix, comparePrefix)
	return found
}

func comparePrefix(b HeldBlock, at netip.Prefix) int { return b.Prefix.Compare(at) }

// confirmOne puts one in force. Where all are confirmed, one that has ended by
// then is not a problem.
func (s *changes) confirmOne(prefix netip.Prefix, all bool) *call.Problem {
	_, ok, err := s.operator.Confirm(prefix)
	switch {
	case err == nil && (ok || all):
		return nil
	case !ok:
		return call.NewProblem(http.StatusNotFound, "prefixes", prefix.String()+" does not await confirmation", "`edgeguard blocks held` lists the blocks that do")
	}
	p := refused(err)
	p.Field = "prefixes"
	return p
}
