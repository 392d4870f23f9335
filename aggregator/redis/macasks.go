package redis

import (
	"context"
	"fmt"
	"time"

	"edgeguard/aggregator/fleet"
)

// macAsks asks the fleet for MACs, and answers who asks. It is of the goroutine that
// joins, then of the heartbeat loop.
type macAsks struct {
	*wire
	keys    *keyring
	clock   *fleetClock
	mirror  *fleet.Mirror
	resync  chan<- struct{}
	draw    func() float64 // random numbers from 0 to 1
	asks    fleet.MACAsks
	answers fleet.MACAnswers
}

// exchange asks the fleet for MACs that this node requires and lacks after a
// join, and answers another node that asks. The question is the state's field
// ask, which gets the present time: a counter that another client set to its
// greatest number could not grow.
func (a *macAsks) exchange(ctx context.Context, s *fleet.State) {
	judge, now := a.keys.judge.Load(), time.Now()
	if !judge.Signs() {
		return
	}
	if !a.config.Monitor && a.answers.AnswerDue(now, s.Ask, int(a.stats.nodes.Load()), a.draw()) {
		signal(a.resync)
	}
	lacking := 0
	if judge.Requires() {
		lacking = a.mirror.Unsigned()
	}
	if lacking == 0 {
		a.node.Calm("unsigned", "ask")
	}
	if !a.asks.AskDue(now, lacking) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, a.config.Timeout)
	defer cancel()
	question := a.clock.redisTime().UnixMilli()
	if err := a.client.HSet(ctx, a.names.state, "ask", question).Err(); err != nil {
		a.stats.failed("ask")
		a.node.Alarm("unsigned", "ask", fmt.Sprintf("%d records of the fleet's list have no valid signature, and this node cannot ask the other nodes for them: %s", lacking, a.config.diagnose(err).Text))
		return
	}
	a.answers.NoteAnswered(question)
	a.node.Calm("unsigned", "ask")
}
