package redis

import (
	"fmt"
	"time"

	"edgeguard/aggregator"
	"edgeguard/clockguard"
)

// judge compares the clocks of the living nodes with Redis' and with each
// other, names the wrong ones, and tells the node how far its wall clock is
// from the fleet's.
func (l *Link) judge(alive []aggregator.Heartbeat) {
	skews := []aggregator.Skew{{Node: l.config.Node, Ahead: l.ahead()}}
	for _, b := range alive {
		if b.Node != l.config.Node {
			skews = append(skews, aggregator.Skew{Node: b.Node, Ahead: time.Duration(b.AheadMS * float64(time.Millisecond))})
		}
	}
	verdict := aggregator.Vote(skews, l.config.MaxSkew)
	wrong := map[string]string{}
	if verdict.Redis {
		wrong["redis"] = fmt.Sprintf("most nodes agree that Redis' clock is wrong: it is %s them, and is not followed: set it right", behindOf(verdict.By))
	}
	for _, s := range verdict.Wrong {
		wrong[s.Node] = fmt.Sprintf("the clock of node %q is %s the fleet's: set it right (chrony, systemd-timesyncd)", s.Node, aheadOf(s.Ahead))
	}
	for about, text := range wrong {
		l.node.Alarm("clock", about, text)
	}
	for about := range l.drift.clocks {
		if wrong[about] == "" {
			l.node.Calm("clock", about)
		}
	}
	l.drift.clocks = wrong
	if offset, _, ok := l.skew.Offset(clockguard.Read()); ok {
		l.node.Skew(offset, !verdict.Redis)
	}
}

func aheadOf(d time.Duration) string {
	if d < 0 {
		return (-d).Round(time.Millisecond).String() + " behind"
	}
	return d.Round(time.Millisecond).String() + " ahead of"
}

func behindOf(d time.Duration) string { return aheadOf(-d) }
