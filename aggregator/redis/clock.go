package redis

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/clockguard"
)

// measure asks Redis for the time.
func (l *Link) measure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	master, err := l.master(ctx)
	if err != nil {
		return fmt.Errorf("time: %w", err)
	}
	sent := clockguard.Read().Mono
	now, err := master.Time(ctx).Result()
	received := clockguard.Read().Mono
	if err != nil {
		l.stats.failed("connect")
		return fmt.Errorf("time: %w", err)
	}
	l.measured(clockguard.Sample{Sent: sent, Received: received, Server: now})
	return nil
}

// measured adds an answer of Redis that has its time.
func (l *Link) measured(sample clockguard.Sample) {
	l.skew.Add(sample)
	_, within, _ := l.skew.Server(sample.Received)
	l.stats.ahead.Store(int64(l.ahead()))
	l.stats.within.Store(int64(within))
}

// fleetNow returns Redis' time as far as this node knows it; before the first
// measurement, the node's own.
func (l *Link) fleetNow() time.Time {
	if now, _, ok := l.skew.Server(clockguard.Read().Mono); ok {
		return now
	}
	return l.node.Epoch(l.node.Now())
}

// ahead returns how far the time that this node reports is ahead of Redis'.
func (l *Link) ahead() time.Duration {
	now := l.fleetNow()
	return l.node.Epoch(l.node.Now()).Round(0).Sub(now)
}

// redisServer is a connection to one Redis.
type redisServer interface {
	Time(ctx context.Context) *goredis.TimeCmd
}

// master returns the Redis that stores the list and whose clock is the fleet's.
func (l *Link) master(ctx context.Context) (redisServer, error) {
	if cluster, ok := l.client.(*goredis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, l.pusher.names.nodes)
	}
	return l.client, nil
}

// judgeClocks compares the clocks of the live nodes with Redis' and with each
// other, and raises alarms about the wrong ones.
func (l *Link) judgeClocks(alive []aggregator.Heartbeat) {
	skews := []aggregator.Skew{{Node: l.config.Node, Ahead: l.ahead()}}
	for _, b := range alive {
		if b.Node != l.config.Node {
			skews = append(skews, aggregator.Skew{Node: b.Node, Ahead: time.Duration(b.AheadMS * float64(time.Millisecond))})
		}
	}
	verdict := aggregator.Vote(skews, l.config.MaxSkew)
	wrong := verdict.Texts()
	for about, text := range wrong {
		l.node.Alarm("clock", about, text)
	}
	for about := range l.alarms.clocks {
		if wrong[about] == "" {
			l.node.Calm("clock", about)
		}
	}
	l.alarms.clocks, l.alarms.redis = wrong, verdict.Redis
}

// followClock passes to the node how far its wall clock is from the fleet's.
func (l *Link) followClock() {
	if offset, _, ok := l.skew.Offset(clockguard.Read()); ok {
		l.node.Skew(offset, !l.alarms.redis)
	}
}
