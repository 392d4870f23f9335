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

// Held blocks, and keys that cannot wait for a round, have this node's counts pushed at a
// pace: who writes very many records, or asks as very many clients, must not have all nodes
// push without end.
const (
	asksPace  = 1000                   // a second, of each node
	asksFleet = 10_000                 // a second, of all nodes together: a twentieth of Redis' time
	asksTurn  = 250 * time.Millisecond // to choose whose turn it is, thousands are looked at
	looksTurn = 100 * time.Millisecond // between two looks at what the node left to others
	// urgentTurn is the time between two urgent pushes: so many clients that are new here cost
	// Redis no more calls than twenty a second, and keys as held blocks do.
	urgentTurn = 50 * time.Millisecond
)

// pushLoop has the node's counts pushed. Other goroutines only wake it, queue a
// key, or say that Redis may have lost something; the rest is the loop's, and
// between two sessions Run's. Of its pusher they use what keeps no state: forget,
// addWatches, splits and known; its doubts have a lock of their own.
type pushLoop struct {
	*wire
	pusher  *Pusher           // its rounds are the loop's, and those of who ends it
	wake    chan struct{}     // push now
	watched *watchQueue       // keys to be pushed now
	asks    *fleet.PacedQueue // the held blocks whose counts wait to be pushed
	asked   chan struct{}     // asks has some
	losses  atomic.Uint64     // how often Redis may have lost something

	slow     patience       // with pushes that are answered late
	turn     time.Time      // when the held blocks last had a turn
	hurried  time.Time      // when urgent keys last had one
	caughtUp uint64         // of losses: all sums were compared since
	pace     fleet.JoinPace // of comparing after an outage
}

func newPushLoop(w *wire, p *Pusher) *pushLoop {
	return &pushLoop{
		wire: w, pusher: p, wake: make(chan struct{}, 1), watched: newWatchQueue(),
		asks: fleet.NewPacedQueue(asksPace, func(prefix netip.Prefix) (counted uint32, ok bool) {
			if k, held := w.node.Held(prefix); held {
				counted = w.node.Counts().OwnCount(k, w.node.Now())
			}
			return counted, counted > 0
		}),
		asked: make(chan struct{}, 1), slow: patience{wire: w},
	}
}

// pushRounds pushes a round each interval, drawn a little shorter so that nodes
// do not fall into step, and immediately what the fleet watches.
func (p *pushLoop) pushRounds(ctx context.Context) error {
	timer := time.NewTimer(rand.N(p.config.Push))
	defer timer.Stop()
	var turn, looks, hurry <-chan time.Time
	for {
		var err error
		if looks == nil && p.pusher.waits() {
			looks = time.After(looksTurn)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.wake:
			timer.Reset(0)
		case <-p.watched.news:
			err = p.pushWatched(ctx)
		case <-looks:
			looks = nil
			err = p.pusher.TakeTurns(ctx, p.node.Now())
		case <-p.asked:
			turn = time.After(asksTurn - time.Since(p.turn))
		case <-p.node.Counts().Urgent():
			hurry = time.After(urgentTurn - time.Since(p.hurried))
		case <-hurry:
			hurry, err = p.pushUrgent(ctx)
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
		if more, paced, err = p.reconcile(ctx); err == nil && p.watched.len() > 0 {
			err = p.pushWatched(ctx)
		}
	}
	p.stats.rounds.Add(1)
	if err == nil {
		p.slow.borne = 0
		p.stats.pushed.Store(time.Now().UnixNano())
		if p.health.PushWorks() {
			p.compareAll() // a new master may have missed something
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
		if most = p.pace.TakeComparisons(time.Now(), p.health, batch); most == 0 {
			return true, true, nil
		}
	}
	more, err = p.pusher.reconcile(ctx, p.node.Now(), most)
	if !more && err == nil {
		p.caughtUp = losses
	}
	return more, false, err
}

// compareAll has all sums compared with Redis, which may have lost something.
func (p *pushLoop) compareAll() {
	p.losses.Add(1)
	p.node.Counts().ReconcileAll()
	signal(p.wake)
}

// check decides what a failed push means. It returns the error if the
// session must end. A push that is only slow means nothing: it is repeated, since what is
// not answered waits. Where only a part of a Cluster, or the node's own clock, is
// the cause, it degrades the session: the next round pushes again what was not
// answered.
func (p *pushLoop) check(ctx context.Context, err error) error {
	if err == nil {
		return nil // maybe nothing was sent: only a round that was answered ends a row of slow ones
	}
	if p.slow.bears(err) {
		p.stats.noteError(err)
		return nil
	}
	if isConnectionLost(err) {
		return err
	}
	p.stats.noteError(err)
	p.reloadCluster(ctx)
	p.health.PushFailed(time.Now(), p.config.diagnose(err))
	return nil
}

// pushWatched pushes queued keys: not so many at once that a round waits for long.
func (p *pushLoop) pushWatched(ctx context.Context) error {
	return p.pusher.PushWatched(ctx, p.watched.takeFirst(batch), p.node.Now())
}

// pushNow has what the node counts of a key pushed immediately: the fleet watches the key, or
// the node wants its total. It never waits: a key that finds no room goes with the next round.
func (p *pushLoop) pushNow(k aggregator.Key) {
	if !p.watched.addKey(k) {
		p.stats.delayed.Add(1)
		p.node.Counts().WatchLater(k, p.node.Now())
	}
}

// lookAgain pushes keys again of whose total a part did not count, as its node was not
// known, where that part may count by now.
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

// queueHeld queues a held block; see [Link.PushCountsOf].
func (p *pushLoop) queueHeld(b edgeguard.Block) {
	if c := (fleet.Change{Block: b}); c.IsPaced() { // nothing is counted of the others
		p.asks.Add(c)
		signal(p.asked)
	}
}

// pushAsked pushes what the node has of the held blocks whose turn it is.
func (p *pushLoop) pushAsked(ctx context.Context) error {
	p.turn = time.Now()
	p.asks.SetPace(p.eachSecond())
	var keys []aggregator.Key
	for _, prefix := range p.asks.TakeNext(p.turn, asksPace) {
		if k, held := p.node.Held(prefix); held {
			keys = append(keys, k)
		}
	}
	if p.asks.Len() > 0 {
		signal(p.asked)
	}
	return p.pusher.PushWatched(ctx, p.pusher.reported(ctx, keys), p.node.Now())
}

// pushUrgent pushes keys that cannot wait for the round, and returns when those that are
// left have their turn.
func (p *pushLoop) pushUrgent(ctx context.Context) (next <-chan time.Time, err error) {
	p.hurried = time.Now()
	most := max(1, p.eachSecond()*int(urgentTurn)/int(time.Second))
	more, err := p.pusher.PushUrgent(ctx, p.node.Now(), most)
	if more {
		next = time.After(urgentTurn)
	}
	return next, err
}

// eachSecond is how many keys a node pushes beside its rounds.
func (p *pushLoop) eachSecond() int {
	return min(asksPace, asksFleet/max(1, int(p.stats.nodes.Load())))
}
