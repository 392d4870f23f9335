package admin

import (
	"fmt"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/internal/words"
)

// The kinds of [Need]: to look at blocks whose addresses may be customers', or at a rule's threshold.
const (
	NeedCustomers = "customers"
	NeedThreshold = "threshold"
)

// MostCustomers is how many blocks are named that may be customers': the newest.
const MostCustomers = 20

// Need is what an operator should look at though nothing fails: what needs somebody beside the alarms.
type Need struct {
	Kind  string    `json:"kind"`
	Text  string    `json:"text"`
	Since time.Time `json:"since"`
	// Prefixes are the blocks that may be customers', the newest first.
	Prefixes []netip.Prefix `json:"prefixes,omitempty"`
	// Rule is the one for which the last day speaks for another threshold, and Threshold that.
	Rule      string `json:"rule,omitempty"`
	Threshold uint32 `json:"threshold,omitempty"`
}

// NewThreshold returns the need to look at the threshold of a rule, for which the last day speaks for another one.
func NewThreshold(rule string, threshold, now uint32, since time.Time) Need {
	says := "A few count far above the rest, and under the limit of %s"
	if threshold > now {
		says = "The limit of %s is among what many count, and not between them and the few far above"
	}
	return Need{
		Kind: NeedThreshold, Since: since.UTC(), Rule: rule, Threshold: threshold,
		Text: fmt.Sprintf(says+": the last day speaks for a threshold of %s, where it is %s.", rule, words.Number(threshold), words.Number(now)),
	}
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
