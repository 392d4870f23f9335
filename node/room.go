package node

import (
	"fmt"
	"time"

	"edgeguard/blocklist"
)

// fullness is how full the block list was at the last look.
type fullness struct {
	evicted, full uint64
	since         time.Time // nothing was evicted or refused after it
}

// lookForRoom raises the alarm about a list that is full: blocks make room for
// others, or an operator's find none. It stands until there was room for a
// minute.
func (n *Node) lookForRoom(now time.Time, before fullness) fullness {
	s := n.list.Stats()
	after := fullness{s.Evicted, s.Full, before.since}
	switch {
	case s.Evicted > before.evicted || s.Full > before.full:
		after.since = now
		n.alarms.begins(now, alarmBlocks, "", roomText(&s))
	case now.Sub(before.since) >= alarmEvery && n.alarms.ends(alarmBlocks, ""):
		n.log.Info("there is room for blocks again", "blocks", s.V4+s.V6, "max_blocks", s.Most)
	}
	return after
}

func roomText(s *blocklist.Stats) string {
	text := fmt.Sprintf("the block list is full: %d of max_blocks %d stand, %d of them by hand; %d have made room for others since the start",
		s.V4+s.V6, s.Most, s.ByHand, s.Evicted)
	if s.Full > 0 {
		text += fmt.Sprintf(", and %d by hand or allowances found none", s.Full)
	}
	return text + ": see which networks are blocked (edgeguard blocks list); raise memory or max_blocks if they should all stand"
}
