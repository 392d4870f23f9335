package admin

import (
	"fmt"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/internal/words"
)

// NeedCustomers is the kind of need to look at blocks whose addresses may be customers'.
const NeedCustomers = "customers"

// MostCustomers is how many blocks are named that may be customers': the newest.
const MostCustomers = 20

// Need is what an operator should look at though nothing fails: what needs somebody beside the alarms.
type Need struct {
	Kind  string    `json:"kind"`
	Text  string    `json:"text"`
	Since time.Time `json:"since"`
	// Prefixes are the blocks that may be customers', the newest first.
	Prefixes []netip.Prefix `json:"prefixes,omitempty"`
}

// NewCustomers returns the need to look at blocks in force whose addresses may be customers', the newest
// first, and false where there are none.
func NewCustomers(blocks []edgeguard.Evidence, monitor bool) (n Need, ok bool) {
	if len(blocks) == 0 {
		return n, false
	}
	n.Kind = NeedCustomers
	for i := range blocks {
		n.Prefixes, n.Since = append(n.Prefixes, blocks[i].Prefix), blocks[i].Since.UTC()
	}
	name := func(one edgeguard.Evidence) string { // an address, or an IPv6 /64
		if one.Prefix.IsSingleIP() {
			return one.Prefix.Addr().String()
		}
		return one.Prefix.String()
	}
	who, are, customers, each, rule := name(blocks[0]), "is", "a customer", "it", blocks[0].Rule
	if len(blocks) > 1 {
		who, are, customers, each, rule = words.Number(len(blocks))+" addresses", "are", "customers", "each", "a rule of logins"
	}
	if len(blocks) == MostCustomers {
		who = words.Number(len(blocks)) + " addresses or more"
	}
	if monitor {
		are = "would be"
	}
	n.Text = fmt.Sprintf("%s %s blocked and may be %s: %s was %s before it went over %s.", who, are, customers, each, ServedPages, rule)
	return n, true
}

// ServedPages is what makes an address one that may be a customer's.
const ServedPages = "served three or more different pages of this site"
