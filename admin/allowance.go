package admin

import (
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/internal/safetext"
)

// Where an allowance was made.
const (
	AllowedByConfig   = "config"
	AllowedByOperator = "operator"
)

// Allowance is a prefix whose addresses are not blocked, or in an event one that
// was removed.
type Allowance struct {
	Prefix netip.Prefix `json:"prefix"`
	// Source is AllowedByConfig, which has no other field, or
	// AllowedByOperator for one that was made at run time.
	Source string    `json:"source"`
	Reason string    `json:"reason,omitempty"`
	Origin string    `json:"origin,omitempty"` // the node on which it was made
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"` // zero: until it is removed
}

// NewAllowance returns an allowance made at run time as the API shows it.
func NewAllowance(b edgeguard.Block) Allowance {
	a := Allowance{Prefix: b.Prefix, Source: AllowedByOperator, Reason: safetext.Strip(b.Reason), Origin: b.Origin, Since: b.Since.UTC()}
	if !endless(b.Until) {
		a.Until = b.Until.UTC()
	}
	return a
}

// endless reports whether a time is edgeguard.Forever, or has been moved a little
// from it by a correction of the clock.
func endless(t time.Time) bool { return !t.Before(edgeguard.Forever.AddDate(-1, 0, 0)) }

// lasts returns until when, in words.
func lasts(until time.Time) string {
	if endless(until) {
		return "without end"
	}
	return "until " + until.UTC().Format(time.RFC3339)
}

// AllowanceList is all allowances in the order of their prefixes; of one prefix
// that of the config comes first.
type AllowanceList struct {
	Allowances []Allowance `json:"allowances"`
}

// AllowRequest asks for an allowance.
type AllowRequest struct {
	// Prefix is an address or a prefix without host bits.
	Prefix string `json:"prefix"`
	// For is how long, such as "90s", "24h" or "30d"; for ever if neither it nor
	// Until is given.
	For string `json:"for,omitempty"`
	// Until is when the allowance ends, instead of For.
	Until time.Time `json:"until,omitzero"`
	// Reason is shown wherever the allowance is.
	Reason string `json:"reason,omitempty"`
	// Force allows prefixes wider than /16 (IPv4) or /32 (IPv6) too.
	Force bool `json:"force,omitempty"`
}

// Allowances returns the config's allowlist and the allowances made at run time, in
// one list: they are few.
func (v *View) Allowances() AllowanceList {
	list := AllowanceList{Allowances: []Allowance{}}
	for _, prefix := range v.reader.Allowlist() {
		list.Allowances = append(list.Allowances, Allowance{Prefix: prefix, Source: AllowedByConfig})
	}
	for b := range v.reader.Allowances(v.reader.Now()) {
		list.Allowances = append(list.Allowances, NewAllowance(b))
	}
	slices.SortStableFunc(list.Allowances, func(a, b Allowance) int { return a.Prefix.Compare(b.Prefix) })
	return list
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
