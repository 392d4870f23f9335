package redis

import (
	"context"
	"math/rand/v2"
	"time"

	"edgeguard/aggregator"
)

// pushes is the push loop: a round each interval, drawn a little shorter so
// that nodes do not fall into step, and at once for what the fleet watches.
func (l *Link) pushes(ctx context.Context) error {
	nextWhole := time.Now().Add(wholeEvery/2 + rand.N(wholeEvery/2))
	timer := time.NewTimer(rand.N(l.config.Push))
	defer timer.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case k := <-l.heard:
			err = l.pusher.Heard(ctx, l.gather(k), l.node.Now())
		case <-l.wake:
			err = l.round(ctx, false)
		case <-timer.C:
			whole := !time.Now().Before(nextWhole)
			if whole {
				nextWhole = time.Now().Add(wholeEvery - rand.N(wholeEvery/10))
			}
			err = l.round(ctx, whole)
			timer.Reset(l.config.Push - rand.N(l.config.Push/10+1))
		}
		if err := l.weigh(ctx, err); err != nil {
			return err
		}
	}
}

// round is one push round with its bookkeeping.
func (l *Link) round(ctx context.Context, whole bool) error {
	now := l.node.Now()
	err := l.pusher.Round(ctx, now, whole)
	l.stats.rounds.Add(1)
	if err == nil {
		l.stats.pushed.Store(time.Now().UnixNano())
		l.health.mendPart()
	}
	return err
}

// weigh decides what a failed push means: the end of the session, or, where
// only a part of a Cluster or the node's own clock is in the way, a degraded
// one: what was not answered is pushed again with the next round.
func (l *Link) weigh(ctx context.Context, err error) error {
	if err == nil || lost(err) {
		return err
	}
	l.stats.note(err)
	l.lookAgain(ctx)
	l.health.degradePart(l.config.diagnose(err))
	return nil
}

// gather takes the watched keys that have come in.
func (l *Link) gather(first aggregator.Key) []aggregator.Key {
	keys := []aggregator.Key{first}
	for len(keys) < heardKeys {
		select {
		case k := <-l.heard:
			keys = append(keys, k)
		default:
			return keys
		}
	}
	return keys
}

// hear hands on a key that the fleet watches.
func (l *Link) hear(k aggregator.Key) {
	select {
	case l.heard <- k:
	default:
		l.stats.dropped.Add(1)
	}
}
