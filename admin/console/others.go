package console

import (
	"net/netip"

	"edgeguard"
	"edgeguard/aggregator"
)

// This file says, before an operator's change, what the other nodes of the fleet
// do with it.

// confirmed is what only an operator on each of the others ends.
const confirmed = " Without a fleet key it waits on each of the other nodes until an operator confirms it there."

// narrowV4 and narrowV6 are the widest allowances that wait nowhere.
const narrowV4, narrowV6 = 24, 48

// blockElsewhere says what they do with a block. signed says that the fleet's key signs it.
func blockElsewhere(prefix netip.Prefix, forced, signed bool) string {
	switch {
	case !aggregator.Travels(prefix):
		return " It is in force on this node alone: the others reject what is so wide."
	case forced && signed:
		return " It is signed with the fleet's key: no other node waits for a confirmation."
	case forced && wider(prefix, edgeguard.WidestV4, edgeguard.WidestV6):
		return confirmed
	}
	return " On another node it waits for a confirmation if it would refuse more than confirm_share there."
}

// allowanceElsewhere says what they do with an allowance.
func allowanceElsewhere(prefix netip.Prefix, signed bool) string {
	switch {
	case !aggregator.Travels(prefix):
		return " It is in force on this node alone: the others reject what is so wide."
	case !signed && wider(prefix, narrowV4, narrowV6):
		return confirmed
	}
	return ""
}

func wider(p netip.Prefix, v4, v6 int) bool {
	if p.Addr().Is4() {
		return p.Bits() < v4
	}
	return p.Bits() < v6
}
