package node

import (
	"fmt"
	"time"

	"edgeguard"
	"edgeguard/rules"
)

// longestWindow is that of the rules, and how long ended blocks are remembered.
func longestWindow(set *rules.Set) time.Duration {
	longest := rules.DefaultWindow
	for i := range set.Meters {
		longest = max(longest, set.Meters[i].Window)
	}
	return longest
}

// crossed hears what the rules did that is no block: those are heard of
// through the list.
func (n *Node) crossed(c edgeguard.Crossing) {
	switch c.Action {
	case edgeguard.ActionBlock:
	case edgeguard.ActionAlarm:
		if c.Wide > 0 {
			n.alarms.happened(c.Time, alarmWide, c.Rule, fmt.Sprintf("%s counts %d, over the %d that rule %s allows a /%d, and is only reported:"+
				" it may be one client or thousands; see 'edgeguard explain' of an address in it, and block what is one client by hand",
				c.Key, c.Count, c.Limit, c.Rule, c.Wide))
			return
		}
		n.alarms.happened(c.Time, alarmSpared, c.Rule, c.Key.String()+" went over the limit of rule "+c.Rule+
			" and is not blocked: the evidence can be forged, or the address must not be blocked")
	default:
		n.journal.hear(note{crossing: &c})
	}
}
