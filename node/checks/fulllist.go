package checks

import (
	"fmt"
	"time"

	"edgeguard/blocklist"
	"edgeguard/node/alarm"
)

// FullList raises the alarm about a full list: blocks are removed for others,
// or an operator's are refused. It is active until there was room for a minute.
type FullList struct {
	List   *blocklist.List
	Alarms *alarm.Tracker
	Log    func(text string, args ...any) // called when there is room again

	evicted, full uint64    // at the previous check
	since         time.Time // nothing was evicted or refused after it
}

// Check raises the alarm, or ends it.
func (r *FullList) Check(now time.Time) {
	s := r.List.Stats()
	switch {
	case s.Evicted > r.evicted || s.Full > r.full:
		r.since = now
		r.Alarms.Begins(now, alarm.Blocks, "", roomText(&s))
	case now.Sub(r.since) >= alarm.Every && r.Alarms.Ends(alarm.Blocks, ""):
		r.Log("the block list has room again", "blocks", s.V4+s.V6, "max_blocks", s.Most)
	}
	r.evicted, r.full = s.Evicted, s.Full
}

func roomText(s *blocklist.Stats) string {
	text := fmt.Sprintf("the block list is full: %d of max_blocks %d are active, %d of these by hand; %d were removed for others since the start",
		s.V4+s.V6, s.Most, s.ByHand, s.Evicted)
	if s.Full > 0 {
		text += fmt.Sprintf(", and %d by hand or allowances were refused", s.Full)
	}
	return text + ": see which networks are blocked (edgeguard blocks list); raise memory or max_blocks to keep them all"
}
