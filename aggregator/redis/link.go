package redis

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/clockguard"
)

// The link's rhythm.
const (
	heartbeatEvery = 2 * time.Second
	// lastPushTimeout is how long a link that ends may take to push what it
	// has.
	lastPushTimeout = 2 * time.Second
	// maxWatched bounds the watched keys that wait to be pushed: all of a watch
	// list, which a node that joins reads in one go.
	maxWatched = watchLength + readBatch
	// watchLength is about how many entries the watch list keeps.
	watchLength = 10000
)

// Link joins one node to its fleet. Its methods are safe for concurrent use
// and, except Run, Look and NodeCounts, never wait for Redis.
type Link struct {
	config Config
	node   Peer
	client goredis.UniversalClient
	health *fleet.Health
	stats  counters
	nodes  *fleet.Roster
	draw   func() float64 // random numbers from 0 to 1

	// Of Run's goroutine, or of the loop that it starts.
	started time.Time
	loaded  time.Time // when loading the library was last tried
	pusher  *Pusher   // its rounds are the push loop's
	alarms  heartbeatAlarms
	drift   fleet.Drift      // the heartbeat loop's
	asks    fleet.MACAsks    // the heartbeat loop's
	answers fleet.MACAnswers // the heartbeat loop's
	figures exchange

	evictions fleet.Evictions // the heartbeat loop's
	seq       atomic.Uint64   // heartbeats that were sent
	reported  string          // what the last one that arrived reported of this node
	spoke     time.Time       // when that was
	shared    time.Time       // when another process last used this node's boot

	skew   clockguard.Skew      // Redis' clock against this host's
	mirror *fleet.Mirror        // the fleet's list as it was read
	cutoff atomic.Int64         // of the newest heartbeat, unix seconds
	asked  aggregator.AskedKeys // keys whose node counts were asked for
	resync chan struct{}        // read the whole list again

	// Of pushing.
	wake     chan struct{}       // push now
	losses   atomic.Uint64       // how often Redis may have lost something
	caughtUp uint64              // of losses: all sums were compared since; the push loop's
	pace     fleet.JoinPace      // the push loop's
	watched  chan aggregator.Key // keys to be pushed now

	// Of publishing.
	outbox  *fleet.Outbox            // changes to be published
	news    chan struct{}            // the outbox has some
	floors  aggregator.ClearedFloors // marks in Redis without an unblock
	clears  *aggregator.ClearedQueue // keys to be forgotten in Redis
	crowded fleet.CrowdedNetworks    // networks of which the fleet keeps no more

	// Of who may write what.
	judge   atomic.Pointer[fleet.Authority]
	signAll atomic.Bool // the next full read has MACs of another key replaced

	// Of receiving.
	rejected fleet.Rejected // prefixes whose record was rejected
	noRoom   atomic.Bool    // an operator's block of the fleet found no room here

	scanFailed bool // the last step of a full read; of one goroutine at a time
}

// New returns a link, which does not connect before Run. It reports everything
// that is wrong with the config.
func New(c Config, node Peer) (*Link, error) {
	client, err := Dial(c)
	if err != nil {
		return nil, err
	}
	_ = c.check() // fills in the defaults; Dial has refused what is wrong
	l := &Link{
		config: c, node: node, client: client, started: time.Now(), draw: rand.Float64,
		outbox: fleet.NewOutbox(fleet.PublishPace, node.Refused), news: make(chan struct{}, 1),
		watched: make(chan aggregator.Key, maxWatched),
		wake:    make(chan struct{}, 1), resync: make(chan struct{}, 1),
		clears: aggregator.NewClearedQueue(), mirror: fleet.NewMirror(),
	}
	l.figures = exchange{Board: c.Figures, Client: client, Key: newNames(l.config.Namespace, 0).figures, Timeout: l.config.Timeout}
	l.health = fleet.NewHealth(l.started, node.Alarm, node.Calm)
	l.judge.Store(fleet.NewAuthority(nil, c.Require, c.Namespace)) // until the key is read
	l.nodes = fleet.NewRoster(l.config.Node, l.config.Boot, l.draw)
	l.nodes.Keep(aggregator.SplitRemembered(l.config.Retention))
	l.pusher = newPusher(client, &l.config, l.node, l.nodes, &l.stats)
	l.pusher.live, l.pusher.forged = true, l.forged
	l.pusher.refreshNames = func(ctx context.Context) { _, _ = l.heartbeat(ctx, false) } // it counts its errors
	return l, nil
}

// Run keeps the node joined to its fleet until ctx ends: it joins, works until
// something breaks, and joins again after a jittered wait. Everything it
// started has ended when it returns. A Link runs once.
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
		if errors.Is(err, errBoot) {
			l.pusher.id = aggregator.NodeID(l.config.Node, l.config.Boot)
			l.nodes.Reboot(l.config.Boot)
			continue
		}
		t := l.config.diagnose(err)
		switch t.Kind {
		case "library":
			l.load(ctx)
		case "too large":
			l.empty(ctx)
		}
		l.reloadCluster(ctx)
		wait := l.health.Failed(time.Now(), t)
		sleep(ctx, wait/2+rand.N(wait/2+1))
	}
	l.lastPush(context.WithoutCancel(ctx))
	l.calmRejected(func(string) bool { return false }) // the next link reads them itself
}

// empty deletes the list and the heartbeats, of which an answer was larger than
// nodes can have made it: it would fail each try. All nodes fill Redis again.
func (l *Link) empty(ctx context.Context) {
	n := &l.pusher.names
	if err := l.client.Del(ctx, n.blocks, n.ends, n.stream, n.state, n.macs, n.nodes, n.seen, n.moved, n.watch).Err(); err != nil {
		l.stats.note(err)
	}
}

// reloadCluster makes a Cluster's client look up its masters again: otherwise
// it would use what it knows for up to a minute after a failed dial. It does
// not wait.
func (l *Link) reloadCluster(ctx context.Context) {
	if cluster, ok := l.client.(*goredis.ClusterClient); ok {
		cluster.ReloadState(ctx)
	}
}

// sweep drops what has expired, also while Redis is away.
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
	l.health.Joined(time.Now())
	l.health.Lasts(time.Now(), int(l.stats.nodes.Load()))
	return runTogether(ctx,
		l.pushLoop,
		l.heartbeatLoop,
		l.publishLoop,
		l.thresholdLoop,
		func(ctx context.Context) error { return l.receiveLoop(ctx, at) },
	)
}

// join reads the key, measures the clock, sends a heartbeat, finds out which
// functions Redis has, syncs the whole list in both directions, and repeats the
// unblocks, which Redis may not have. Then every suspect is reconciled, and the
// watch list is read from one window back.
func (l *Link) join(ctx context.Context) (position, error) {
	if err := l.loadKey(); err != nil {
		return position{}, err
	}
	for i := range 3 {
		if err := l.measure(ctx); err != nil {
			return position{}, err
		}
		if i == 0 { // Redis answers: all nodes that lost it return now
			sleep(ctx, rand.N(l.health.Spread(time.Now())+1))
		}
	}
	l.nodes.Rejoin()
	s, err := l.heartbeat(ctx, true)
	if err != nil {
		return position{}, err
	}
	l.drift.Joined(s.Born)
	l.asks.Joined()
	l.answers.Seen(s.Ask)
	// What operators changed is in the list, too, which the sync publishes.
	l.outbox.Operators()
	if err := l.fullSync(ctx, s); err != nil {
		return position{}, err
	}
	l.outbox.Sent()
	l.clearLifted()
	if err := l.forget(ctx); err != nil {
		return position{}, err
	}
	l.lost()
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
	err := l.publishOperators(ctx)
	if err == nil {
		_, err = l.publishBlocks(ctx)
	}
	if err == nil {
		err = l.forget(ctx)
	}
	if err == nil {
		l.node.Counts().Leave()
		err = l.pusher.Round(ctx, l.node.Now())
	}
	if err == nil {
		err = l.farewell(ctx)
	}
	if err != nil {
		l.stats.note(err)
	}
}

// Up reports whether the node is joined to its fleet; false before the first
// join.
func (l *Link) Up() bool {
	t, _ := l.health.State()
	return t.Kind == ""
}

// Look reads the newest heartbeats of all living nodes. It waits for Redis, at
// most the config's timeout.
func (l *Link) Look(ctx context.Context) (look fleet.Look, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	unsent := l.outbox.Unsent() // before the version that the answer has
	s, err := l.callBeat(ctx, "", "", "0", "0")
	if err != nil {
		return look, errors.New(l.config.diagnose(err).Text)
	}
	look = s.Look(l.judge.Load().Beat)
	look.Unsent = unsent
	return look, nil
}

// Resync reads and publishes the whole list again: after a change of the
// allowlist, for example, so that rejected records are tried again.
func (l *Link) Resync() { signal(l.resync) }

// signal sets a flag without waiting for its reader.
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
