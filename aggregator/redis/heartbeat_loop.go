package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
)

// beats is the heartbeat's loop.
func (l *Link) beats(ctx context.Context) error {
	ticks := time.NewTicker(beatEvery)
	defer ticks.Stop()
	for n := 0; ; n++ {
		if n%(int(time.Minute/beatEvery)) == 0 {
			l.inspect(ctx)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
		if err := l.measure(ctx); err != nil {
			return err
		}
		s, err := l.beat(ctx, true)
		if err != nil {
			return err
		}
		l.compare(ctx, s)
		l.lookForRoom()
	}
}

// beat says that this node lives, and takes in who else does; said is false to
// ask only.
func (l *Link) beat(ctx context.Context, said bool) (standing, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	field, value := "", ""
	if said {
		mine := l.mine()
		field, value = mine.Field(), mine.Encode()
	}
	answer, err := l.client.FCall(ctx, functionName("beat"), l.pusher.names.beatKeys(),
		field, value, strconv.Itoa(l.config.Partitions)).Slice()
	var s standing
	if err == nil {
		s, err = parseStanding(answer)
	}
	if err != nil {
		l.stats.failed("beat")
		return s, fmt.Errorf("heartbeat: %w", err)
	}
	if said {
		l.meet(s)
	}
	return s, nil
}

// mine is this node's beat.
func (l *Link) mine() aggregator.Heartbeat {
	digest, changes := l.mirror.digest(l.drift.cutoff.Load())
	now := l.fleetNow()
	return aggregator.Heartbeat{
		Node: l.config.Node, Boot: l.config.Boot, Version: l.config.Version, Monitor: l.config.Monitor,
		Started: now.Add(-time.Since(l.started)).Round(time.Millisecond).UTC(),
		At:      now.Round(time.Millisecond).UTC(), AheadMS: float64(l.ahead().Microseconds()) / 1000,
		PushLagMS: l.stats.pushLag().Milliseconds(),
		Changes:   changes, Digest: digest, Cutoff: l.drift.cutoff.Load(), Own: l.node.Own(),
	}
}

// meet takes in the fleet's nodes.
func (l *Link) meet(s standing) {
	l.seen.set(s.names())
	alive := s.alive()
	names := map[string]bool{l.config.Node: true}
	for _, b := range alive {
		names[b.Node] = true
	}
	l.stats.nodes.Store(int64(len(names)))
	l.node.Counts().SetNodes(len(names))
	l.node.Fleet(alive)
	l.judge(alive)
	twins := s.twins()
	for _, name := range twins {
		l.node.Alarm("duplicate_name", name, fmt.Sprintf("two running nodes are called %q: their counts add up, but their blocks and figures cannot be told apart: give each its own `node:`", name))
	}
	if len(twins) == 0 && l.drift.hadTwins {
		l.node.Calm("duplicate_name", l.drift.twin)
	}
	if l.drift.hadTwins = len(twins) > 0; l.drift.hadTwins {
		l.drift.twin = twins[0]
	}
}

// inspect looks at Redis' own settings. A user that may not see them, or a
// Redis that fails here, is found out elsewhere.
func (l *Link) inspect(ctx context.Context) {
	for _, m := range l.masters(ctx) {
		bounded, cancel := context.WithTimeout(ctx, l.config.Timeout)
		info, err := m.InfoMap(bounded, "memory").Result()
		cancel()
		policy := info["Memory"]["maxmemory_policy"]
		if err != nil || policy == "" {
			continue
		}
		if policy != "noeviction" && info["Memory"]["maxmemory"] != "0" {
			l.node.Alarm("eviction", "redis", "Redis drops keys when it is full (maxmemory-policy "+policy+"): counts and blocks can vanish: set maxmemory-policy noeviction")
			return
		}
	}
	l.node.Calm("eviction", "redis")
}

// masters are all masters, or the one Redis.
func (l *Link) masters(ctx context.Context) []timer {
	cluster, ok := l.client.(*goredis.ClusterClient)
	if !ok {
		return []timer{l.client}
	}
	var all []timer
	found := make(chan timer, 128)
	_ = cluster.ForEachMaster(ctx, func(_ context.Context, c *goredis.Client) error {
		select {
		case found <- c:
			return nil
		default:
			return errors.New("more masters than are looked at")
		}
	})
	for len(found) > 0 {
		all = append(all, <-found)
	}
	return all
}
