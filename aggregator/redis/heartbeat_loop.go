package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/redis/library"
)

// heartbeatAlarms are the alarms that the last heartbeat raised.
type heartbeatAlarms struct {
	duplicate string            // the first name that two nodes share; "" if none
	clocks    map[string]string // the text of each wrong clock
}

// heartbeatLoop sends a heartbeat every two seconds and compares the lists.
func (l *Link) heartbeatLoop(ctx context.Context) error {
	ticks := time.NewTicker(heartbeatEvery)
	defer ticks.Stop()
	for looked := (time.Time{}); ; {
		// All nodes together look at most ten times a second.
		if time.Since(looked) >= max(10*time.Second, time.Duration(l.stats.nodes.Load())*100*time.Millisecond) {
			l.checkEviction(ctx)
			looked = time.Now()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
		if err := l.measure(ctx); err != nil {
			return err
		}
		s, err := l.heartbeat(ctx, true)
		if err != nil {
			return err
		}
		l.health.Lasts(time.Now(), int(l.stats.nodes.Load()))
		l.compareLists(ctx, s)
		l.calmCrowded()
	}
}

// heartbeat calls the beat function and returns its answer. announce says that
// this node is alive, and applies what the others reported; without it the call
// only reads.
func (l *Link) heartbeat(ctx context.Context, announce bool) (fleetState, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	field, value := "", ""
	if announce {
		mine := l.ownHeartbeat()
		field, value = mine.Field(), mine.Encode()
	}
	answer, err := l.client.FCall(ctx, library.Function("beat"), l.pusher.names.heartbeatKeys(),
		field, value, strconv.Itoa(l.config.Partitions)).Slice()
	var s fleetState
	if err == nil {
		s, err = parseFleetState(answer)
	}
	if err != nil {
		l.stats.failed("beat")
		return s, fmt.Errorf("heartbeat: %w", err)
	}
	if announce {
		l.updateNodes(s)
	}
	return s, nil
}

// ownHeartbeat returns this node's heartbeat.
func (l *Link) ownHeartbeat() aggregator.Heartbeat {
	digest, changes := l.mirror.Digest(l.drift.cutoff.Load())
	now := l.fleetNow()
	return aggregator.Heartbeat{
		Node: l.config.Node, Boot: l.config.Boot, Version: l.config.Version, Monitor: l.config.Monitor,
		Started: now.Add(-time.Since(l.started)).Round(time.Millisecond).UTC(),
		At:      now.Round(time.Millisecond).UTC(), AheadMS: float64(l.ahead().Microseconds()) / 1000,
		PushLagMS: l.stats.pushLag().Milliseconds(),
		Changes:   changes, Digest: digest, Cutoff: l.drift.cutoff.Load(), Own: l.node.Own(),
	}
}

// updateNodes applies the state of the fleet's nodes.
func (l *Link) updateNodes(s fleetState) {
	l.nodes.set(s.names())
	alive := s.alive()
	names := map[string]bool{l.config.Node: true}
	for _, b := range alive {
		names[b.Node] = true
	}
	l.stats.nodes.Store(int64(len(names)))
	l.node.Counts().SetNodes(len(names), l.node.Now())
	l.node.Fleet(alive)
	l.judgeClocks(alive)
	l.alarmDuplicates(s.duplicateNames())
}

// alarmDuplicates raises an alarm for each name that two nodes share, and ends
// the last one when there is none.
func (l *Link) alarmDuplicates(names []string) {
	for _, name := range names {
		l.node.Alarm("duplicate_name", name, fmt.Sprintf("two running nodes are named %q: their counts add up, but their blocks and figures cannot be told apart: give each its own `node:`", name))
	}
	switch last := l.alarms.duplicate; {
	case len(names) > 0:
		l.alarms.duplicate = names[0]
	case last != "":
		l.node.Calm("duplicate_name", last)
		l.alarms.duplicate = ""
	}
}

// checkEviction raises an alarm if Redis evicts keys, or may. It ignores errors:
// the user may lack the permission, and other calls notice a Redis that fails.
func (l *Link) checkEviction(ctx context.Context) {
	evicted, mayEvict := int64(0), ""
	for _, m := range l.masters(ctx) {
		bounded, cancel := context.WithTimeout(ctx, l.config.Timeout)
		info, err := m.InfoMap(bounded, "memory", "stats").Result()
		cancel()
		if err != nil {
			return
		}
		n, _ := strconv.ParseInt(info["Stats"]["evicted_keys"], 10, 64)
		evicted += n
		if policy := info["Memory"]["maxmemory_policy"]; policy != "noeviction" && policy != "" && info["Memory"]["maxmemory"] != "0" {
			mayEvict = policy
		}
	}
	if text := l.evictions.Text(time.Now(), evicted, mayEvict); text != "" {
		l.node.Alarm("eviction", "redis", text)
	} else {
		l.node.Calm("eviction", "redis")
	}
}

// masters returns all masters of a Cluster, or the one Redis.
func (l *Link) masters(ctx context.Context) []redisServer {
	cluster, ok := l.client.(*goredis.ClusterClient)
	if !ok {
		return []redisServer{l.client}
	}
	var all []redisServer
	found := make(chan redisServer, 128)
	_ = cluster.ForEachMaster(ctx, func(_ context.Context, c *goredis.Client) error {
		select {
		case found <- c:
			return nil
		default:
			return errors.New("too many masters")
		}
	})
	for len(found) > 0 {
		all = append(all, <-found)
	}
	return all
}
