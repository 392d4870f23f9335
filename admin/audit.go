package admin

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"edgeguard"
)

// Audit is one manual action, whether it succeeded or not. Requests that were
// refused before are only counted.
type Audit struct {
	Time time.Time `json:"time"`
	Who  string    `json:"who"` // as in access.Caller, and so are the next three
	User string    `json:"user,omitempty"`
	Role string    `json:"role,omitempty"`
	Way  string    `json:"way,omitempty"`
	// Action is "block", "import", "import allowances", "extend", "unblock", "unblock many", "disallow many", "restore", "restore many", "confirm", "allow", "disallow",
	// "add client", "remove client", "threshold", "end overlay", "add candidate", "remove candidate", "sign",
	// "reload", "login", "logout", "login link" or "end sessions".
	Action string `json:"action"`
	Target string `json:"target,omitempty"` // the prefix as asked for, the rule, or which blocks; empty for "sign" and "reload"
	Detail string `json:"detail,omitempty"` // the end and the reason; old and new threshold
	Result string `json:"result"`           // "ok", or the problem
	// Batch is the name of what an import made, or of what a removal of many lifted.
	Batch edgeguard.BatchID `json:"batch,omitempty"`
	// Prefixes are those of a change of many.
	Prefixes []netip.Prefix `json:"prefixes,omitempty"`
	// Undo is the command that takes it back, if there is one.
	Undo string `json:"undo,omitempty"`
}

// AuditPage is one page of the manual actions, the newest first.
type AuditPage struct {
	Audit []Audit `json:"audit"`
	// Next is the cursor of the next page, empty on the last.
	Next string `json:"next,omitempty"`
}

// Record adds a change that no operator asked for.
func (v *View) Record(one Audit) {
	one.Time = v.reader.Now()
	v.events.Change(one)
}

// undoOf returns the command that takes a change back; empty where none does.
func undoOf(a *Audit) string {
	switch a.Action {
	case "block", "restore":
		return "edgeguard blocks remove " + a.Target
	case "unblock":
		return "edgeguard blocks add " + a.Target
	case "allow":
		return "edgeguard allow remove " + a.Target
	case "disallow":
		return "edgeguard allow add " + a.Target
	case "threshold":
		if strings.Contains(a.Detail, " on the whole fleet") {
			return "edgeguard rules reset --fleet " + a.Target
		}
		return "edgeguard rules reset " + a.Target
	case importBlocks:
		if a.Batch != 0 {
			return "edgeguard blocks remove --batch " + a.Batch.String()
		}
	case importAllowances:
		if a.Batch != 0 {
			return "edgeguard allow remove --batch " + a.Batch.String()
		}
	case unblockMany, disallowMany:
		if a.Batch != 0 {
			return "edgeguard changes undo " + a.Batch.String()
		}
	case "confirm":
		if n := len(a.Prefixes); n > 0 && n <= 20 {
			return "edgeguard blocks remove " + strings.Trim(fmt.Sprint(a.Prefixes), "[]")
		}
	}
	return ""
}
