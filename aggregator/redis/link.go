package redis

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/blocklist"
	"edgeguard/internal/sleep"
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

// Link joins one node to its fleet: it makes the parts, and starts and ends their
// loops. What changes is in the parts, each of which says whose it is. Its methods are
// safe for concurrent use and, except Run, Look, NodeCounts, Lead and Leave, never
// wait for Redis.
type Link struct {
	*wire
	keys      *keyring
	clock     *fleetClock
	beats     *heartbeats
	pushes    *pushLoop
	counts    *nodeCounts
	clears    *clearing
	publisher *publisher
	list      *listReader
	drift     driftCheck
	asks      macAsks
	evictions evictionWatch
	figures   figuresExchange
	rules     rulesExchange
	loader    loader
}

// New returns a link, which does not connect before Run. It reports everything
// that is wrong with the config.
func New(c Config, node Peer) (*Link, error) {
	client, err := NewClient(c)
	if err != nil {
		return nil, err
	}
	_ = c.check() // fills in the defaults; Dial has refused what is wrong
	now := time.Now()
	w := &wire{
		config: &c, node: node, client: client, names: newNames(c.Namespace, c.Partitions),
		health: fleet.NewHealth(now, node.Alarm, node.Calm), stats: &counters{},
	}
	l := &Link{wire: w, keys: newKeyring(w), clock: &fleetClock{wire: w}}
	nodes := fleet.NewRoster(c.Node, c.Boot, rand.Float64)
	nodes.RememberFor(aggregator.SplitRemembered(c.Retention))
	mirror, resync := fleet.NewMirror(), make(chan struct{}, 1)
	pusher := newPusher(client, &c, node, nodes, w.stats)
	l.beats = &heartbeats{wire: w, keys: l.keys, clock: l.clock, mirror: mirror, nodes: nodes, started: now, boot: c.Boot, stopped: c.Stopped}
	l.pushes = newPushLoop(w, pusher)
	l.counts = &nodeCounts{wire: w, clock: l.clock, nodes: nodes, pushes: l.pushes}
	l.clears = &clearing{wire: w, pusher: pusher, mirror: mirror, queue: aggregator.NewClearedQueue()}
	l.publisher = &publisher{
		wire: w, keys: l.keys, clock: l.clock, nodes: nodes, mirror: mirror, clears: l.clears, counts: l.counts,
		outbox: fleet.NewPacedQueue(fleet.PublishPace, node.Refused), news: make(chan struct{}, 1), resync: resync,
	}
	l.list = &listReader{
		wire: w, keys: l.keys, clock: l.clock, beats: l.beats, pushes: l.pushes, clears: l.clears, publisher: l.publisher,
		rejections: &rejections{wire: w}, mirror: mirror, resync: resync,
	}
	l.drift = driftCheck{wire: w, mirror: mirror, beats: l.beats, pushes: l.pushes, resync: resync}
	l.asks = macAsks{wire: w, keys: l.keys, clock: l.clock, mirror: mirror, resync: resync, draw: rand.Float64}
	l.evictions, l.loader = evictionWatch{wire: w}, loader{wire: w}
	l.figures = figuresExchange{Board: c.Figures, Client: client, Key: w.names.figures, Timeout: c.Timeout}
	l.rules = rulesExchange{Compared: c.Compared, Client: client, Key: w.names.rules, Timeout: c.Timeout}
	pusher.live, pusher.forged = true, l.clears.forged
	pusher.refreshNames = func(ctx context.Context) { _, _ = l.beats.sendHeartbeat(ctx, false) } // it counts its errors
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
		l.stats.noteError(err)
		if errors.Is(err, errBoot) {
			l.pushes.pusher.id = aggregator.NodeID(l.config.Node, l.beats.boot)
			l.beats.nodes.Reboot(l.beats.boot)
			continue
		}
		t := l.config.diagnose(err)
		switch t.Kind {
		case "library":
			l.loader.installLibrary(ctx)
		case "too large":
			l.empty(ctx)
		}
		l.reloadCluster(ctx)
		wait := l.health.Failed(time.Now(), t)
		sleep.For(ctx, wait/2+rand.N(wait/2+1))
	}
	l.lastPush(context.WithoutCancel(ctx))
	l.list.rejections.endAlarms(func(string) bool { return false }) // the next link reads them itself
}

// empty deletes the list and the heartbeats, of which an answer was larger than
// nodes can have made it: it would fail each try. All nodes fill Redis again.
func (l *Link) empty(ctx context.Context) {
	n := &l.names
	if err := l.client.Del(ctx, n.blocks, n.ends, n.stream, n.state, n.macs, n.nodes, n.seen, n.moved, n.watch).Err(); err != nil {
		l.stats.noteError(err)
	}
}

// sweep drops what has expired, also while Redis is away.
func (l *Link) sweep(ctx context.Context) {
	for ctx.Err() == nil {
		sleep.For(ctx, time.Second)
		l.node.Counts().Sweep(l.node.Now())
	}
}

// IsJoined reports whether the node is joined to its fleet; false before the first
// join.
func (l *Link) IsJoined() bool {
	t, _ := l.health.State()
	return t.Kind == ""
}

// ReadHeartbeats reads the newest heartbeats of all living nodes. It waits for Redis, at
// most the config's timeout.
func (l *Link) ReadHeartbeats(ctx context.Context) (look fleet.Look, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	unsent := l.publisher.outbox.Unsent() // before the version that the answer has
	s, err := l.beats.callBeat(ctx, "", "", "0", "0")
	if err != nil {
		return look, errors.New(l.config.diagnose(err).Text)
	}
	look = s.WholeList(l.keys.judge.Load().ParseHeartbeat)
	look.Unsent = unsent
	return look, nil
}

// Resync reads and publishes the whole list again: after a change of the
// allowlist, for example, so that rejected records are tried again.
func (l *Link) Resync() { signal(l.list.resync) }

// SignAll has the list read in full, and the MAC of each record that this node's list
// vouches for published by the key that signs now: no node does that by itself, or
// the two halves of a fleet in a rotation would replace each other's MACs for ever.
func (l *Link) SignAll() {
	l.list.signAll.Store(true)
	l.Resync()
}

// StepLease makes a step of a lease, in a fleet that this node has joined. It waits for Redis.
func (l *Link) StepLease(ctx context.Context, x *Lease, spare bool) error {
	return x.TakeOrRenew(ctx, l.leases(), spare)
}

// Leave ends a lease that this node holds. It waits for Redis.
func (l *Link) Leave(ctx context.Context, x *Lease) error { return x.Release(ctx, l.leases()) }

func (l *Link) leases() LeaseWay {
	return LeaseWay{Client: l.client, Key: l.names.leases, Judge: l.keys.judge.Load(), Now: l.clock.redisTime(), Timeout: l.config.Timeout}
}

// Changed queues a change of the node's list to be published; times are local.
// It never waits: if there is no room, a full sync publishes the change. What
// came from the fleet is recognized and not published. An unblock also removes
// the prefix's counts from what the node pushes, immediately, and from Redis.
func (l *Link) Changed(b edgeguard.Block, t blocklist.Trust) { l.publisher.changed(b, t) }

// PushCountsOf pushes what this node counts of the key of a held block, if any node has
// reported that key: the answer usually confirms the block. It never waits for Redis. At
// most a thousand blocks a second are asked about, those first of which the node has counted
// most. A block of which it has counted nothing is left out: the total would say nothing of
// what this node saw.
func (l *Link) PushCountsOf(b edgeguard.Block) { l.pushes.queueHeld(b) }

// NodeCounts returns what each node counts of keys, the greatest count first. A
// node that is far from the limit does not report what it counts: so the keys
// are added to the fleet's watch list first, and with settle the call waits for
// what the nodes then push. It waits for Redis, at most the config's timeout. A
// key that no node counts has none.
func (l *Link) NodeCounts(ctx context.Context, keys []aggregator.Key, settle bool) ([][]aggregator.NodeCount, error) {
	return l.counts.readSplits(ctx, keys, settle)
}
