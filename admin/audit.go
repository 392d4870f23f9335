package admin

import "time"

// Audit is one manual action, for the log, whether it succeeded or not. Requests
// that were refused before are only counted.
type Audit struct {
	Time time.Time
	Who  string // as in access.Caller
	// Action is "block", "extend", "unblock", "confirm", "allow", "disallow",
	// "sign" or "reload".
	Action string
	Target string // the prefix as asked for; empty for "sign" and "reload"
	Detail string // the end and the reason
	Result string // "ok", or the problem
}
