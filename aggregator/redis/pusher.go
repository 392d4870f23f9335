package redis

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
)

const (
	// callKeys is the most keys of one call: about 2 ms of Redis' time.
	callKeys = 200
	// pipelined is the most calls that are sent before their answers are read:
	// neither side buffers more than a few MB, and a round of many keys does not
	// outlast one exchange's timeout.
	pipelined = 16
	// fleetCalls is the most calls of all nodes: half a second of Redis' time.
	fleetCalls = 250
	// batch is about how many keys are taken from the node at a time. More would
	// take memory and delay what follows from the answers, in particular when
	// all ask for a full push.
	batch = pipelined * callKeys
)

// Pusher carries one node's counts to Redis, one round at a time, and starts no
// goroutine: Link runs it in real time, a replay in its own. It is not safe for
// concurrent use, except forget, addWatches and splits.
type Pusher struct {
	client       goredis.UniversalClient
	timeout      time.Duration
	names        names
	id           [8]byte
	node         Counting
	nodes        *fleet.Roster
	stats        *counters
	refreshNames func(context.Context) // reads the nodes' names again; nil: nodes is complete
	// forged is called with each answer, which may show that another client wrote
	// to Redis; nil: nobody does.
	forged func(*aggregator.Push, aggregator.Outcome, time.Time)
	// live makes each call claim the node's time when it is sent: a round of very
	// many keys takes Redis seconds, and that is not a wrong clock.
	live      bool
	window    time.Duration // the longest of the rules
	doubts    aggregator.Doubts
	firsts    aggregator.SplitBudget // of the keys that are looked at for the first time
	agains    aggregator.SplitBudget
	later     []aggregator.SplitLook // that found no room among the firsts
	fields    int                    // of a split, lately
	refreshed time.Time              // when the names were last read again
	// looks and watches are left to other nodes for a moment.
	looks     aggregator.Backoff[aggregator.SplitLook]
	watches   aggregator.Backoff[aggregator.Key]
	unasked   []aggregator.Key // that the fleet could not be asked to watch
	sumsUntil atomic.Int64     // the unix second until which Redis' functions know no splits of slots
}

// NewPusher returns the pusher of one node for a caller that keeps its own
// time, such as a replay. It calls Counts, Width, Epoch, Over and Settled of
// the node. named are the names of the fleet's nodes by ID: whose counts block, and the
// reasons of blocks say so. The caller adds nodes as they come.
func NewPusher(client goredis.UniversalClient, c Config, node Counting, named map[[8]byte]string) (*Pusher, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return newPusher(client, &c, node, fleet.NamedRoster(named), &counters{}), nil
}

func newPusher(client goredis.UniversalClient, c *Config, node Counting, seen *fleet.Roster, stats *counters) *Pusher {
	return &Pusher{
		client: client, timeout: c.Timeout, names: newNames(c.Namespace, c.Partitions),
		id: aggregator.NodeID(c.Node, c.Boot), node: node, nodes: seen, stats: stats, window: c.Retention,
	}
}

// Round pushes what has changed and does what follows from the answers. It
// repeats unblocks that Redis lacks, pushes keys in full that Redis asks for,
// asks the fleet to watch keys, and passes keys over the limit to Peer.Over.
// now is local time. An error names the first call that was not answered; its
// keys are still to be pushed.
func (p *Pusher) Round(ctx context.Context, now time.Time) error {
	counts := p.node.Counts()
	var t tally
	for pushes := range counts.Collect(now, batch) {
		if !p.sendPushes(ctx, counts, pushes, now, &t) {
			break
		}
	}
	p.prove(ctx, counts, nil, now) // what waits
	return t.firstError()
}

// reconcile compares with Redis what is due, or so much of it, and reports
// whether there is more; see [aggregator.Totals.Reconcile]. It goes after
// Round.
func (p *Pusher) reconcile(ctx context.Context, now time.Time, most int) (more bool, err error) {
	counts := p.node.Counts()
	pushes, more := counts.Reconcile(now, most)
	var t tally
	p.sendPushes(ctx, counts, pushes, now, &t)
	return more, t.firstError()
}

// PushWatched pushes what the node has of keys that the fleet watches.
func (p *Pusher) PushWatched(ctx context.Context, keys []aggregator.Key, now time.Time) error {
	counts := p.node.Counts()
	var pushes []aggregator.Push
	for _, k := range keys {
		if one, ok := counts.Watch(k, now); ok {
			pushes = append(pushes, one)
		}
	}
	var t tally
	p.sendPushes(ctx, counts, pushes, now, &t)
	return t.firstError()
}

// PushUrgent pushes keys that cannot wait for the next round, at most most, and reports
// whether there are more.
func (p *Pusher) PushUrgent(ctx context.Context, now time.Time, most int) (more bool, err error) {
	counts := p.node.Counts()
	pushes, more := counts.CollectUrgent(now, most)
	var t tally
	p.sendPushes(ctx, counts, pushes, now, &t)
	return more, t.firstError()
}

// reported returns the keys of which Redis has a count. For a block that is right, the other
// nodes have reported one. Else whoever writes records of very many clients that no node has
// seen could make all nodes push counts of them.
func (p *Pusher) reported(ctx context.Context, keys []aggregator.Key) []aggregator.Key {
	if len(keys) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	pipe := p.client.Pipeline()
	var cmds []*goredis.IntCmd
	for _, k := range keys {
		cmds = append(cmds, pipe.HLen(ctx, p.names.suspect(k)))
	}
	_, _ = pipe.Exec(ctx) // of what fails the push says why
	var out []aggregator.Key
	for i, k := range keys {
		if fields, err := cmds[i].Result(); err != nil || fields > 0 {
			out = append(out, k)
		}
	}
	return out
}

// askWatches has the fleet watch keys, those first of which that failed before.
func (p *Pusher) askWatches(ctx context.Context, keys []aggregator.Key) error {
	keys = append(p.unasked, keys...)
	p.unasked = nil
	err := p.addWatches(ctx, keys)
	if err != nil {
		p.unasked = slices.Clone(keys[:min(len(keys), mostLater)])
	}
	return err
}

// addWatches adds keys to the fleet's watch list.
func (p *Pusher) addWatches(ctx context.Context, keys []aggregator.Key) error {
	if len(keys) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	pipe := p.client.Pipeline()
	for _, k := range keys {
		pipe.XAdd(ctx, &goredis.XAddArgs{
			Stream: p.names.watch, MaxLen: watchLength, Approx: true, Values: []any{"k", k.Append(nil)},
		})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		p.stats.failed("watch")
		return fmt.Errorf("watch list: %w", err)
	}
	return nil
}
