package node

import (
	"net/netip"
	"slices"
	"time"

	"edgeguard"
)

// allowanceChanged hears of an allowance that was made, changed or taken back,
// or is over, on the goroutine that made the change. The lists that enforcers
// have are cut anew, whether blocks begin or cease to sleep in it.
func (n *Node) allowanceChanged(b edgeguard.Block) {
	over := !b.Lifted && !n.clock.Now().Before(b.Until)
	n.journal.hear(note{block: &b, over: over})
	n.state.touch()
	if !over { // who knows the allowance knows its end
		n.tellFleet(b)
	}
	n.refreshOutlets()
}

// allowed gives the prefixes that nobody is blocked in at now: the allowlist of
// the config and the allowances made at run time.
func (n *Node) allowed(now time.Time) []netip.Prefix {
	all := slices.Clone(n.pipeline.Current().Config.Allowlist)
	for a := range n.list.Allowances(now) {
		all = append(all, a.Prefix)
	}
	return all
}
