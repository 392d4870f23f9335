package admin

import (
	"context"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/admin/watch"
)

// Inside is what a node knows of the addresses in a prefix.
type Inside struct {
	Keys      int            // addresses or networks that a rule counts now
	Window    int            // of that rule, in seconds; 0 where nothing is counted
	Protected []netip.Prefix // some of the protected ones
}

// MostExempt bounds a list of prefixes that a block does not apply to.
const MostExempt = 5

// Weigh returns the part of the last five minutes' requests that a block of a prefix
// would newly refuse, and why the node would refuse it without force; of an
// allowance the latter. It changes nothing.
func (c *Changes) Weigh(by access.Caller, prefix netip.Prefix, allow bool) (share float64, p *call.Problem) {
	if p := mayChange(by); p != nil {
		return 0, p
	}
	now := c.view.reader.Now()
	share, err := c.operator.Weigh(edgeguard.Block{Prefix: prefix, Rule: edgeguard.ManualRule, Since: now, Until: now.Add(call.DefaultFor), Allow: allow})
	return share, refusedProblem(err)
}

// Inside returns what the node counts in a prefix, by a look at all keys that all who
// ask share; nothing if ctx ended first.
func (v *View) Inside(ctx context.Context, prefix netip.Prefix) Inside {
	in, _, _ := watch.Look(ctx, v.scans, scanned{inside: prefix}, func(now time.Time) Inside { return v.reader.Inside(now, prefix) })
	return in
}
