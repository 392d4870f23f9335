package checks

import (
	"fmt"
	"time"

	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
)

// forgedLasts is how long after the last forgery its alarm is active.
const forgedLasts = 10 * time.Minute

// Forged raises the alarm about what somebody else wrote to the fleet's Redis:
// counts in this node's name, or that a key is not counted.
type Forged struct {
	Current func() *pipeline.Generation
	Alarms  *alarm.Tracker
}

// Check raises the alarm, or ends it.
func (f *Forged) Check(now time.Time) {
	g := f.Current()
	if g.Member == nil {
		f.Alarms.Ends(alarm.Forged, "")
		return
	}
	switch last := g.Member.Totals.Forgery(); {
	case last.Found == 0 || now.Sub(last.At) >= forgedLasts:
		f.Alarms.Ends(alarm.Forged, "")
	case last.Mark:
		f.Alarms.Begins(now, alarm.Forged, "", fmt.Sprintf(
			"Redis says that %v was unblocked, and no unblock of it is known: somebody else writes to the namespace to keep it uncounted: change the nodes' Redis password", last.Key.Prefix))
	default:
		f.Alarms.Begins(now, alarm.Forged, "", fmt.Sprintf(
			"Redis holds counts of %v in this node's name that this node did not count: somebody else writes to the namespace: change the nodes' Redis password, and remove the block if there is one", last.Key.Prefix))
	}
}
