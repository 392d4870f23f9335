package admin

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"edgeguard/admin/call"
)

// maxAudit is how many manual actions are kept: about 300 kB.
const maxAudit = 1000

// Audit is one manual action, whether it succeeded or not. Requests that were
// refused before are only counted.
type Audit struct {
	Time time.Time `json:"time"`
	Who  string    `json:"who"` // as in access.Caller, and so are the next three
	User string    `json:"user,omitempty"`
	Role string    `json:"role,omitempty"`
	Way  string    `json:"way,omitempty"`
	// Action is "block", "extend", "unblock", "confirm", "allow", "disallow",
	// "sign", "reload", "login", "logout", "login link" or "end sessions".
	Action string `json:"action"`
	Target string `json:"target,omitempty"` // the prefix as asked for; empty for "sign" and "reload"
	Detail string `json:"detail,omitempty"` // the end and the reason
	Result string `json:"result"`           // "ok", or the problem
}

// AuditPage is one page of the manual actions, the newest first.
type AuditPage struct {
	Audit []Audit `json:"audit"`
	// Next is the cursor of the next page, empty on the last.
	Next string `json:"next,omitempty"`
}

// audits keeps the last manual actions. It is safe for concurrent use.
type audits struct {
	mu   sync.Mutex // guards the fields below
	ring [maxAudit]Audit
	next uint64 // the number of the next one; the first is 1
}

func (a *audits) add(one Audit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = max(a.next, 1)
	a.ring[a.next%maxAudit] = one
	a.next++
}

// page returns the newest ones before a number, 0 for all, and the number of the
// last of them, 0 if there are no more before it.
func (a *audits) page(before uint64, most int) (page []Audit, next uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	page = []Audit{}
	if before == 0 || before > a.next {
		before = a.next
	}
	for n := before; n > 1 && a.next-(n-1) <= maxAudit; n-- {
		if len(page) == most {
			return page, n
		}
		page = append(page, a.ring[(n-1)%maxAudit])
	}
	return page, 0
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
	if page.Audit, next = s.audits.page(before, limit); next > 0 {
		page.Next = strconv.FormatUint(next, 10)
	}
	call.SendJSON(w, http.StatusOK, page)
	return nil
}
