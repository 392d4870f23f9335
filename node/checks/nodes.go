package checks

import (
	"fmt"
	"time"

	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
)

// mostNodes is by how many times the fleet may exceed max_nodes while quiet
// keeps its promise.
const mostNodes = 4

// Nodes raises the alarm about more nodes than the config expects: each reports
// smaller counts then, and above four times as many they may leave more than
// the share of a limit unreported. It is active for a window after there were
// fewer, as long as the share goes by them.
type Nodes struct {
	Current func() *pipeline.Generation
	Alarms  *alarm.Tracker
}

// Check raises the alarm, or ends it.
func (n *Nodes) Check(now time.Time) {
	g := n.Current()
	if g.Member == nil {
		n.Alarms.Ends(alarm.Nodes, "")
		return
	}
	switch s := g.Member.Totals.Stats(); {
	case !s.Quiet || s.Nodes <= s.MaxNodes:
		n.Alarms.Ends(alarm.Nodes, "")
	case s.Nodes <= mostNodes*s.MaxNodes:
		n.Alarms.Begins(now, alarm.Nodes, "", fmt.Sprintf(
			"the fleet had %d nodes in the last window, and max_nodes is %d: every node reports smaller counts, which costs Redis more: raise max_nodes", s.Nodes, s.MaxNodes))
	default:
		n.Alarms.Begins(now, alarm.Nodes, "", fmt.Sprintf(
			"the fleet had %d nodes in the last window, more than %d times max_nodes %d: an address that is spread over all of them can exceed a limit unseen: raise max_nodes, or find out who writes heartbeats", s.Nodes, mostNodes, s.MaxNodes))
	}
}
