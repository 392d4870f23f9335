package redis

import (
	"context"
	"math/rand/v2"
	"time"

	"edgeguard/aggregator"
)

// pushLoop pushes a round each interval, drawn a little shorter so that nodes
// do not fall into step, and immediately what the fleet watches.
func (l *Link) pushLoop(ctx context.Context) error {
	timer := time.NewTimer(rand.N(l.config.Push))
	defer timer.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.wake:
			timer.Reset(0)
		case k := <-l.watched:
			err = l.pusher.PushWatched(ctx, l.drainWatched(k), l.node.Now())
		case <-timer.C:
			var wait time.Duration
			wait, err = l.round(ctx)
			timer.Reset(wait)
		}
		if err := l.checkPush(ctx, err); err != nil {
			return err
		}
	}
}

// round is one push round: first what has changed, then reconciles for the rest
// of the interval, and for at least half of one. It returns the time to wait
// before the next.
func (l *Link) round(ctx context.Context) (wait time.Duration, err error) {
	began := time.Now()
	err = l.pusher.Round(ctx, l.node.Now())
	until := max(l.config.Push, time.Since(began)+l.config.Push/2)
	more := err == nil
	paced := false
	for more && err == nil && !paced && time.Since(began) < until {
		if more, paced, err = l.reconcile(ctx); err == nil && len(l.watched) > 0 {
			err = l.pusher.PushWatched(ctx, l.drainWatched(<-l.watched), l.node.Now())
		}
	}
	l.stats.rounds.Add(1)
	if err == nil {
		l.stats.pushed.Store(time.Now().UnixNano())
		if l.health.PushWorks() {
			l.lost() // a new master may have missed something
			more = true
		}
		if more && !paced {
			return 0, nil
		}
	}
	// A slow or shared Redis has a quarter of the time for other clients.
	return max(l.config.Push/4, l.config.Push-rand.N(l.config.Push/10+1)-time.Since(began)), err
}

// reconcile compares some sums with Redis, and reports whether there are more.
// While the fleet catches up after an outage, each node keeps to its part of
// what Redis can answer; paced says that it has had that for now.
func (l *Link) reconcile(ctx context.Context) (more, paced bool, err error) {
	most, losses := batch, l.losses.Load()
	if l.caughtUp != losses {
		if most = l.pace.Take(time.Now(), l.health, batch); most == 0 {
			return true, true, nil
		}
	}
	more, err = l.pusher.reconcile(ctx, l.node.Now(), most)
	if !more && err == nil {
		l.caughtUp = losses
	}
	return more, false, err
}

// lost has all sums compared with Redis, which may have lost something.
func (l *Link) lost() {
	l.losses.Add(1)
	l.node.Counts().Lost()
	signal(l.wake)
}

// checkPush decides what a failed push means. It returns the error if the
// session must end. Where only a part of a Cluster, or the node's own clock, is
// the cause, it degrades the session: the next round pushes again what was not
// answered.
func (l *Link) checkPush(ctx context.Context, err error) error {
	if err == nil || lost(err) {
		return err
	}
	l.stats.note(err)
	l.reloadCluster(ctx)
	l.health.PushFailed(time.Now(), l.config.diagnose(err))
	return nil
}

// drainWatched returns the queued watched keys.
func (l *Link) drainWatched(first aggregator.Key) []aggregator.Key {
	keys := []aggregator.Key{first}
	for len(keys) < maxWatched {
		select {
		case k := <-l.watched:
			keys = append(keys, k)
		default:
			return keys
		}
	}
	return keys
}

// PushNow has what the node counts of a key pushed immediately: the fleet
// watches the key, or the node wants its total. It never waits; if the queue is
// full, the next round pushes the key.
func (l *Link) PushNow(k aggregator.Key) {
	select {
	case l.watched <- k:
	default:
		l.stats.dropped.Add(1)
	}
}
