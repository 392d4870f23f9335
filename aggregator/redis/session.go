package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"edgeguard/internal/sleep"
)

// session is one stay in the fleet: from joining it to the first thing that
// breaks, or the end of ctx.
func (l *Link) session(ctx context.Context) error {
	at, err := l.join(ctx)
	if err != nil {
		return err
	}
	l.stats.reconnects.Add(1)
	l.health.Joined(time.Now())
	l.health.Lasts(time.Now(), int(l.stats.nodes.Load()))
	return runTogether(ctx,
		l.pushes.pushRounds,
		l.heartbeatLoop,
		l.publishLoop,
		l.thresholdLoop,
		func(ctx context.Context) error { return l.list.readChanges(ctx, at) },
	)
}

// join reads the key, measures the clock, sends a heartbeat, finds out which
// functions Redis has, syncs the whole list in both directions, and repeats the
// unblocks, which Redis may not have. Then every suspect is reconciled, and the
// watch list is read from one window back.
func (l *Link) join(ctx context.Context) (position, error) {
	if err := l.keys.readKeyFile(); err != nil {
		return position{}, err
	}
	for i := range 3 {
		if err := l.clock.measure(ctx); err != nil {
			return position{}, err
		}
		if i == 0 { // Redis answers: all nodes that lost it return now
			sleep.For(ctx, rand.N(l.health.Spread(time.Now())+1))
		}
	}
	l.beats.nodes.Rejoin()
	s, err := l.beats.sendHeartbeat(ctx, true)
	if err != nil {
		return position{}, err
	}
	l.drift.drift.Joined(s.Born)
	l.asks.asks.Joined()
	l.asks.answers.NoteAnswered(s.Ask)
	// What operators changed is in the list, too, which the sync publishes.
	l.publisher.outbox.Operators()
	if err := l.list.mergeWholeList(ctx, s); err != nil {
		return position{}, err
	}
	l.publisher.outbox.OperatorsSent()
	l.clears.repeat()
	if err := l.clears.forget(ctx); err != nil {
		return position{}, err
	}
	l.pushes.compareAll()
	return startPosition(s, l.config.Retention), nil
}

// lastPush pushes and publishes what is left, blocks of rules at their pace: the
// others go when the node is back. The other nodes' timeouts cover what fails: an
// alarm now would reach no operator.
func (l *Link) lastPush(ctx context.Context) {
	if t, _ := l.health.State(); t.Kind != "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastPushTimeout)
	defer cancel()
	err := l.publisher.operators(ctx)
	if err == nil {
		_, err = l.publisher.blocks(ctx)
	}
	if err == nil {
		err = l.clears.forget(ctx)
	}
	if err == nil {
		l.node.Counts().Leave()
		err = l.pushes.pusher.Round(ctx, l.node.Now())
	}
	if err == nil {
		err = l.beats.farewell(ctx)
	}
	if err != nil {
		l.stats.noteError(err)
	}
}

// heartbeatLoop sends a heartbeat every two seconds and compares the lists.
func (l *Link) heartbeatLoop(ctx context.Context) error {
	ticks := time.NewTicker(heartbeatEvery)
	defer ticks.Stop()
	slow := patience{wire: l.wire}
	for looked := (time.Time{}); ; {
		// All nodes together look at most ten times a second.
		if time.Since(looked) >= max(10*time.Second, time.Duration(l.stats.nodes.Load())*100*time.Millisecond) {
			l.evictions.check(ctx)
			looked = time.Now()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
		s, err := l.beats.sendHeartbeat(ctx, true)
		if slow.bears(err) {
			l.stats.noteError(err)
			continue
		}
		if err != nil {
			return err
		}
		l.health.Lasts(time.Now(), int(l.stats.nodes.Load()))
		l.drift.compare(ctx, s)
		l.asks.exchange(ctx, &s)
		l.exchangeFigures(ctx)
		l.publisher.calmCrowded()
	}
}

// publishLoop publishes changes, forgets unblocked keys in Redis, and replaces
// what is wrong there.
func (l *Link) publishLoop(ctx context.Context) error {
	seconds, turns := time.NewTicker(time.Second), time.NewTicker(publishTurn)
	defer seconds.Stop()
	defer turns.Stop()
	signal(l.publisher.news) // what has waited since the session before
	for behind := false; ; {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.publisher.news:
			if err = l.publisher.operators(ctx); err == nil && !behind {
				behind, err = l.publisher.blocks(ctx)
			}
		case <-turns.C:
			if behind {
				behind, err = l.publisher.blocks(ctx)
			}
		case <-l.clears.queue.Waiting:
			err = l.clears.forget(ctx)
		case <-seconds.C:
			err = l.housekeep(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// housekeep is called each second: it replaces what is wrong, takes back marks
// without an unblock, looks again at totals in doubt, and raises and ends the alarms
// about unsigned records and those of a later version.
func (l *Link) housekeep(ctx context.Context) error {
	l.list.alarmUnsigned()
	if n := l.list.mirror.Newer(); n > 0 {
		l.node.Alarm("version", "record", fmt.Sprintf("%d records of the fleet's list are of a later version, and ignored here: upgrade this node", n))
	} else {
		l.node.Calm("version", "record")
	}
	l.list.rejections.endAlarms(l.list.mirror.HasRecord)
	l.pushes.lookAgain()
	if err := l.clears.refloor(ctx, time.Now()); err != nil {
		return err
	}
	return l.list.replaceWrong(ctx, time.Now())
}

// thresholdLoop keeps the fleet's thresholds, where the node requires signatures: else
// who can write to Redis could set them.
func (l *Link) thresholdLoop(ctx context.Context) error {
	if l.config.Thresholds == nil || !l.config.Require {
		<-ctx.Done()
		return ctx.Err()
	}
	sync := thresholdSync{
		Client: l.client, Key: l.names.thresholds, Timeout: l.config.Timeout, Monitor: l.config.Monitor, Node: l.config.Thresholds,
		Judge: l.keys.judge.Load, Now: l.clock.redisTime, Nodes: l.stats.nodes.Load, Alarm: l.node.Alarm, Calm: l.node.Calm,
	}
	return sync.Run(ctx)
}

// exchangeFigures reports this node's figures, and reads those of the others, if
// somebody looks at the fleet, and what the rules do where these differ. An error does not end the session.
func (l *Link) exchangeFigures(ctx context.Context) {
	turn := figuresTurn{
		Now: l.node.Now(), Fleet: l.clock.redisTime(), Node: l.config.Node, Boot: l.beats.boot, Alive: l.beats.nodes.Alive(), Judge: l.keys.judge.Load(),
	}
	if err := errors.Join(l.figures.ExchangeFigures(ctx, turn), l.rules.ExchangeRules(ctx, &turn, l.node.RulesDigest())); err != nil {
		l.stats.failed("figures")
	}
}

// errEnded is of a loop that ended without an error.
var errEnded = errors.New("ended")

// runTogether runs loops until all have ended. The first that ends ends the others, and its
// error is returned.
func runTogether(ctx context.Context, loops ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, loop := range loops {
		running.Go(func() {
			err := loop(ctx)
			if err == nil {
				err = errEnded
			}
			cancel(err)
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
