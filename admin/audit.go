package admin

import (
	"time"

	"edgeguard/admin/watch"
)

// Audit is one manual action, whether it succeeded or not. Requests that were
// refused before are only counted.
type Audit struct {
	Time time.Time `json:"time"`
	Who  string    `json:"who"` // as in access.Caller, and so are the next three
	User string    `json:"user,omitempty"`
	Role string    `json:"role,omitempty"`
	Way  string    `json:"way,omitempty"`
	// Action is "block", "import", "extend", "unblock", "restore", "confirm", "allow", "disallow",
	// "add client", "remove client", "threshold", "end overlay", "add candidate", "remove candidate", "sign",
	// "reload", "login", "logout", "login link" or "end sessions".
	Action string `json:"action"`
	Target string `json:"target,omitempty"` // the prefix as asked for, or the rule; empty for "sign" and "reload"
	Detail string `json:"detail,omitempty"` // the end and the reason; old and new threshold
	Result string `json:"result"`           // "ok", or the problem
}

// AuditPage is one page of the manual actions, the newest first.
type AuditPage struct {
	Audit []Audit `json:"audit"`
	// Next is the cursor of the next page, empty on the last.
	Next string `json:"next,omitempty"`
}

// Audits returns the last manual actions.
func (v *View) Audits() *watch.Ring[Audit] { return v.audits }

// Record adds a change that no operator asked for.
func (v *View) Record(one Audit) {
	one.Time = v.reader.Now()
	v.audits.Add(one)
}
