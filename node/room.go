package node

import (
	"fmt"
	"log/slog"
	"time"

	"edgeguard/blocklist"
	"edgeguard/node/alarm"
)

// roomCheck raises the alarm about a full list: blocks are removed for others,
// or an operator's are refused. It is active until there was room for a minute.
type roomCheck struct {
	list          *blocklist.List
	alarms        *alarm.Tracker
	log           *slog.Logger
	evicted, full uint64    // at the previous check
	since         time.Time // nothing was evicted or refused after it
}

func (r *roomCheck) check(now time.Time) {
	s := r.list.Stats()
	switch {
	case s.Evicted > r.evicted || s.Full > r.full:
		r.since = now
		r.alarms.Begins(now, alarm.Blocks, "", roomText(&s))
	case now.Sub(r.since) >= alarm.Every && r.alarms.Ends(alarm.Blocks, ""):
		r.log.Info("the block list has room again", "blocks", s.V4+s.V6, "max_blocks", s.Most)
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
