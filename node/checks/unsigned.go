package checks

import (
	"fmt"
	"iter"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
)

// Unsigned raises the alarm about records of this node's list that are from
// before the key: where signatures are required they are in force here, and no
// other node accepts them.
type Unsigned struct {
	Current func() *pipeline.Generation
	Records func() iter.Seq2[edgeguard.Block, blocklist.Trust] // the fleet's part of the list
	Alarms  *alarm.Tracker
}

// Check raises the alarm, or ends it. It takes time in proportion to the list.
func (u *Unsigned) Check(now time.Time) {
	unsigned := 0
	if f := u.Current().Config.Fleet; f != nil && f.RequireKey {
		for b, t := range u.Records() {
			if !t.Signed && now.Before(b.Until) {
				unsigned++
			}
		}
	}
	if unsigned == 0 {
		u.Alarms.Ends(alarm.Unsigned, "own")
		return
	}
	u.Alarms.Begins(now, alarm.Unsigned, "own", fmt.Sprintf(
		"%d records of this node's list are not signed, so other nodes do not receive them (fleet.key_mode: require): look at `edgeguard blocks` and `edgeguard allow`, then run `edgeguard fleet sign` here", unsigned))
}
