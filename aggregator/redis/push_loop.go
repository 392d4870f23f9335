package redis

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
)

// Held blocks have this node's counts pushed at a pace: who writes very many records must
// not have all nodes push without end.
const (
	asksPace  = 1000                   // a second, of each node
	asksFleet = 10_000                 // a second, of all nodes together: a twentieth of Redis' time
	asksTurn  = 250 * time.Millisecond // to choose whose turn it is, thousands are looked at
)

// pushLoop has the node's counts pushed. Other goroutines only wake it, queue a
// key, or say that Redis may have lost something; the rest is the loop's, and
// between two sessions Run's. Of its pusher they use what keeps no state: forget,
// addWatches, splits and known; its doubts have a lock of their own.
type pushLoop struct {
	*wire
	pusher  *Pusher             // its rounds are the loop's, and those of who ends it
	wake    chan struct{}       // push now
	watched chan aggregator.Key // keys to be pushed now
	asks    *fleet.Outbox       // the held blocks whose counts wait to be pushed
	asked   chan struct{}       // asks has some
	losses  atomic.Uint64       // how often Redis may have lost something

	turn     time.Time      // when the held blocks last had a turn
	caughtUp uint64         // of losses: all sums were compared since
	pace     fleet.JoinPace // of comparing after an outage
}

func newPushLoop(w *wire, p *Pusher) *pushLoop {
	return &pushLoop{
		wire: w, pusher: p, wake: make(chan struct{}, 1), watched: make(chan aggregator.Key, maxWatched),
		asks: fleet.NewOutbox(asksPace, func(prefix netip.Prefix) (counted uint32, ok bool) {
			if k, held := w.node.Held(prefix); held {
				counted = w.node.Counts().Own(k, w.node.Now())
			}
			return counted, counted > 0
		}),
		asked: make(chan struct{}, 1),
	}
}

// run pushes a round each interval, drawn a little shorter so that nodes
// do not fall into step, and immediately what the fleet watches.
func (p *pushLoop) run(ctx context.Context) error {
	timer := time.NewTimer(rand.N(p.config.Push))
	defer timer.Stop()
	var turn <-chan time.Time
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.wake:
			timer.Reset(0)
		case k := <-p.watched:
			err = p.pusher.PushWatched(ctx, p.drain(k), p.node.Now())
		case <-p.asked:
			turn = time.After(asksTurn - time.Since(p.turn))
		case <-turn:
			turn = nil
			err = p.pushAsked(ctx)
		case <-timer.C:
			var wait time.Duration
			wait, err = p.round(ctx)
			timer.Reset(wait)
		}
		if err := p.check(ctx, err); err != nil {
			return err
		}
	}
}

// round is one push round: first what has changed, then reconciles for the rest
// of the interval, and for at least half of one. It returns the time to wait
// before the next.
func (p *pushLoop) round(ctx context.Context) (wait time.Duration, err error) {
	began := time.Now()
	err = p.pusher.Round(ctx, p.node.Now())
	until := max(p.config.Push, time.Since(began)+p.config.Push/2)
	more := err == nil
	paced := false
	for more && err == nil && !paced && time.Since(began) < until {
		if more, paced, err = p.reconcile(ctx); err == nil && len(p.watched) > 0 {
			err = p.pusher.PushWatched(ctx, p.drain(<-p.watched), p.node.Now())
		}
	}
	p.stats.rounds.Add(1)
	if err == nil {
		p.stats.pushed.Store(time.Now().UnixNano())
		if p.health.PushWorks() {
			p.lost() // a new master may have missed something
			more = true
		}
		if more && !paced {
			return 0, nil
		}
	}
	// A slow or shared Redis has a quarter of the time for other clients.
	return max(p.config.Push/4, p.config.Push-rand.N(p.config.Push/10+1)-time.Since(began)), err
}

// reconcile compares some sums with Redis, and reports whether there are more.
// While the fleet catches up after an outage, each node keeps to its part of
// what Redis can answer; paced says that it has had that for now.
func (p *pushLoop) reconcile(ctx context.Context) (more, paced bool, err error) {
	most, losses := batch, p.losses.Load()
	if p.caughtUp != losses {
		if most = p.pace.Take(time.Now(), p.health, batch); most == 0 {
			return true, true, nil
		}
	}
	more, err = p.pusher.reconcile(ctx, p.node.Now(), most)
	if !more && err == nil {
		p.caughtUp = losses
	}
	return more, false, err
}

// lost has all sums compared with Redis, which may have lost something.
func (p *pushLoop) lost() {
	p.losses.Add(1)
	p.node.Counts().Lost()
	signal(p.wake)
}

// check decides what a failed push means. It returns the error if the
// session must end. Where only a part of a Cluster, or the node's own clock, is
// the cause, it degrades the session: the next round pushes again what was not
// answered.
func (p *pushLoop) check(ctx context.Context, err error) error {
	if err == nil || lost(err) {
		return err
	}
	p.stats.note(err)
	p.reloadCluster(ctx)
	p.health.PushFailed(time.Now(), p.config.diagnose(err))
	return nil
}

// drain returns the queued watched keys, each once: several nodes may add one to the
// watch list.
func (p *pushLoop) drain(first aggregator.Key) []aggregator.Key {
	keys, seen := []aggregator.Key{first}, map[aggregator.Key]bool{first: true}
	for len(keys) < maxWatched {
		select {
		case k := <-p.watched:
			if !seen[k] {
				keys, seen[k] = append(keys, k), true
			}
		default:
			return keys
		}
	}
	return keys
}

// pushNow queues a key; see [Link.PushNow].
func (p *pushLoop) pushNow(k aggregator.Key) {
	select {
	case p.watched <- k:
	default:
		p.stats.dropped.Add(1)
	}
}

// lookAgain has those keys pushed again of which what counts of their total was too
// little, where it may be more by now.
func (p *pushLoop) lookAgain() {
	now := p.node.Now()
	again, explained := p.pusher.doubts.Report(now, p.pusher.known(now), p.node)
	for _, k := range explained {
		p.node.Counts().Explained(k)
	}
	for _, k := range slices.Concat(explained, again) {
		p.pushNow(k)
	}
}

// ask queues a held block; see [Link.Ask].
func (p *pushLoop) ask(b edgeguard.Block) {
	if c := (fleet.Change{Block: b}); c.ByRule() { // nothing is counted of the others
		p.asks.Add(c)
		signal(p.asked)
	}
}

// pushAsked pushes what the node has of the held blocks whose turn it is.
func (p *pushLoop) pushAsked(ctx context.Context) error {
	p.turn = time.Now()
	p.asks.SetPace(min(asksPace, asksFleet/max(1, int(p.stats.nodes.Load()))))
	var keys []aggregator.Key
	for _, prefix := range p.asks.Next(p.turn, asksPace) {
		if k, held := p.node.Held(prefix); held {
			keys = append(keys, k)
		}
	}
	if p.asks.Len() > 0 {
		signal(p.asked)
	}
	return p.pusher.PushWatched(ctx, p.pusher.reported(ctx, keys), p.node.Now())
}
