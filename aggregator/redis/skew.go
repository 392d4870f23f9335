package redis

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

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
	l.skew.Add(clockguard.Sample{Sent: sent, Received: received, Server: now})
	_, within, _ := l.skew.Server(received)
	l.stats.ahead.Store(int64(l.ahead()))
	l.stats.within.Store(int64(within))
	return nil
}

// fleetNow is Redis' time, as far as this node knows; before it was asked the
// node's own.
func (l *Link) fleetNow() time.Time {
	if now, _, ok := l.skew.Server(clockguard.Read().Mono); ok {
		return now
	}
	return l.node.Epoch(l.node.Now())
}

// ahead is how far the time that this node tells the fleet is ahead of Redis'.
func (l *Link) ahead() time.Duration {
	now := l.fleetNow()
	return l.node.Epoch(l.node.Now()).Round(0).Sub(now)
}

// timer is a connection to one Redis.
type timer interface {
	Time(ctx context.Context) *goredis.TimeCmd
	InfoMap(ctx context.Context, sections ...string) *goredis.InfoCmd
}

// master is the Redis that holds the list and whose clock is the fleet's.
func (l *Link) master(ctx context.Context) (timer, error) {
	if cluster, ok := l.client.(*goredis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, l.pusher.names.nodes)
	}
	return l.client, nil
}
