package redis

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/clockguard"
)

// The link's rhythm.
const (
	beatEvery = 2 * time.Second
	// lastWords is how long a link that ends may take to push what it has.
	lastWords = 2 * time.Second
	// queued bounds the blocks that wait to be published: more are found by a
	// full sync. heardKeys bounds the watched keys that wait to be pushed: all
	// of a watch list, which a node that joins reads at once.
	queued, heardKeys = 1024, watchLength + newsAtOnce
	// watchLength is about how many entries the watch list keeps.
	watchLength = 10000
)

// Link joins one node to its fleet. Its methods are safe for concurrent use
// and, but for Run, never wait for Redis.
type Link struct {
	config  Config
	node    Peer
	client  goredis.UniversalClient
	pusher  *Pusher // used by one goroutine at a time: pushes, or Run
	health  health
	stats   counters
	seen    roster
	mirror  mirror
	skew    clockguard.Skew // Redis' clock against this host's
	started time.Time
	loaded  time.Time   // when the library was last tried to be loaded; Run's
	drift   drift       // used by the beat's goroutine
	asked   asked       // keys that somebody looks at
	poison  reported    // prefixes whose poison was alarmed
	lacked  atomic.Bool // an operator's block of the fleet has found no room here
	crowds  crowds      // networks of which the fleet keeps no more

	queue  chan change         // blocks to be published
	wake   chan struct{}       // push now
	heard  chan aggregator.Key // watched keys to be pushed now
	resync chan struct{}       // read the whole list again
	clears clears              // keys to be forgotten in Redis
	owed   chan struct{}       // there are some
}

// New makes a link; it speaks to nobody before Run. Everything that is wrong
// with the config is reported at once.
func New(c Config, node Peer) (*Link, error) {
	client, err := Dial(c)
	if err != nil {
		return nil, err
	}
	_ = c.check() // fills in the defaults; Dial has refused what is wrong
	l := &Link{
		config: c, node: node, client: client, started: time.Now(),
		queue: make(chan change, queued), heard: make(chan aggregator.Key, heardKeys),
		wake: make(chan struct{}, 1), resync: make(chan struct{}, 1), owed: make(chan struct{}, 1),
	}
	l.health = health{alarm: node.Alarm, calm: node.Calm, trouble: starting, since: l.started}
	l.mirror.ledger = aggregator.NewLedger()
	l.pusher = newPusher(client, &l.config, l.node, &l.seen, &l.stats)
	l.pusher.live = true
	l.pusher.learn = func(ctx context.Context) {
		if s, err := l.beat(ctx, false); err == nil {
			l.seen.set(s.names())
		}
	}
	return l, nil
}

// Run keeps the node joined to its fleet until ctx ends, whatever becomes of
// Redis: it joins, works until something breaks, and joins again after a
// jittered wait. Everything it started has ended when it returns. A Link runs
// once.
func (l *Link) Run(ctx context.Context) {
	defer l.client.Close()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { l.sweep(ctx) })
	for ctx.Err() == nil {
		err := l.session(ctx)
		if ctx.Err() != nil {
			break
		}
		l.stats.note(err)
		t := l.config.diagnose(err)
		if t.Kind == "library" {
			l.load(ctx)
		}
		l.lookAgain(ctx)
		sleep(ctx, l.health.degrade(t))
	}
	l.farewell(context.WithoutCancel(ctx))
}

// lookAgain has a Cluster's client learn anew who its masters are: after a dial
// that fails it would go on with what it knows for a minute. It waits for
// nobody.
func (l *Link) lookAgain(ctx context.Context) {
	if cluster, ok := l.client.(*goredis.ClusterClient); ok {
		cluster.ReloadState(ctx)
	}
}

// sweep forgets what is over, also while Redis is away.
func (l *Link) sweep(ctx context.Context) {
	for ctx.Err() == nil {
		sleep(ctx, time.Second)
		l.node.Counts().Sweep(l.node.Now())
	}
}

// session is one stay in the fleet: from joining it to the first thing that
// breaks, or the end of ctx.
func (l *Link) session(ctx context.Context) error {
	at, err := l.join(ctx)
	if err != nil {
		return err
	}
	l.stats.reconnects.Add(1)
	l.health.mend()
	return together(ctx,
		l.pushes,
		l.beats,
		l.publishes,
		func(ctx context.Context) error { return l.follow(ctx, at) },
	)
}

// join meets the fleet: clock, heartbeat, the whole list in both directions,
// and the unblocks, which Redis may not have heard of, nor this node's counts.
// After it every suspect is offered, and what the fleet has watched for a window
// is pushed: the watch list is read from there on.
func (l *Link) join(ctx context.Context) (place, error) {
	for range 3 {
		if err := l.measure(ctx); err != nil {
			return place{}, err
		}
	}
	s, err := l.beat(ctx, true)
	if err != nil {
		return place{}, err
	}
	l.drift.born = s.born
	// What waits in the queue is in the list, which the sync publishes.
	for len(l.queue) > 0 {
		<-l.queue
	}
	if err := l.sync(ctx, s); err != nil {
		return place{}, err
	}
	l.clearLifted()
	if err := l.forget(ctx); err != nil {
		return place{}, err
	}
	l.node.Counts().Lost()
	signal(l.wake)
	return startOf(s, l.config.Retention), nil
}

// farewell pushes and publishes what is left. What fails is left to the other
// nodes' timeouts: there is nobody to tell.
func (l *Link) farewell(ctx context.Context) {
	if t, _ := l.health.state(); t.Kind != "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	err := l.publish(ctx, l.drain(nil))
	if err == nil {
		err = l.forget(ctx)
	}
	if err == nil {
		err = l.pusher.Round(ctx, l.node.Now())
	}
	if err != nil {
		l.stats.note(err)
	}
}

// Up reports whether the node is joined to its fleet; not before Run has joined
// it first.
func (l *Link) Up() bool {
	t, _ := l.health.state()
	return t.Kind == ""
}

// Resync reads and publishes the whole list again: after a change of the
// allowlist, say, so that what was refused is offered again.
func (l *Link) Resync() { signal(l.resync) }

// together runs loops until all have ended; the first that ends ends the
// others, and its error is returned.
func together(ctx context.Context, loops ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, loop := range loops {
		running.Go(func() { cancel(orEnded(loop(ctx))) })
	}
	running.Wait()
	return context.Cause(ctx)
}

var errEnded = errors.New("ended")

func orEnded(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}

// signal sets a flag that its reader takes when it has time.
func signal(flag chan struct{}) {
	select {
	case flag <- struct{}{}:
	default:
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
