package redis

import (
	"context"
	"fmt"
	"time"

	"edgeguard/aggregator/fleet"
)

// exchangeMACs asks the fleet for MACs that this node requires and lacks after a
// join, and answers another node that asks. The question is the state's field
// ask, which gets the present time: a counter that another client set to its
// greatest number could not grow.
func (l *Link) exchangeMACs(ctx context.Context, s *fleet.State) {
	judge, now := l.judge.Load(), time.Now()
	if !judge.Signs() {
		return
	}
	if !l.config.Monitor && l.answers.Due(now, s.Ask, int(l.stats.nodes.Load()), l.draw()) {
		l.Resync()
	}
	lacking := 0
	if judge.Requires() {
		lacking = l.mirror.Unsigned()
	}
	if lacking == 0 {
		l.node.Calm("unsigned", "ask")
	}
	if !l.asks.Due(now, lacking) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	question := l.fleetNow().UnixMilli()
	if err := l.client.HSet(ctx, l.pusher.names.state, "ask", question).Err(); err != nil {
		l.stats.failed("ask")
		l.node.Alarm("unsigned", "ask", fmt.Sprintf("%d records of the fleet's list have no valid signature, and this node cannot ask the other nodes for them: %s", lacking, l.config.diagnose(err).Text))
		return
	}
	l.answers.Seen(question)
	l.node.Calm("unsigned", "ask")
}
