package redis

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/clockguard"
)

// fleetClock knows Redis' time, which is the fleet's, and judges the clocks of the
// nodes by it. Asking it for the time is safe for concurrent use.
type fleetClock struct {
	*wire
	skew clockguard.Skew // Redis' clock against this host's

	// The alarms that the last whole list of nodes raised; of who joins, then of
	// the heartbeat loop.
	wrong      map[string]string // the text of each wrong clock
	redisWrong bool              // most nodes disagree with Redis' clock
}

// measure asks Redis for the time.
func (c *fleetClock) measure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	master, err := c.master(ctx)
	if err != nil {
		return fmt.Errorf("time: %w", err)
	}
	sent := clockguard.Read().Mono
	now, err := master.Time(ctx).Result()
	received := clockguard.Read().Mono
	if err != nil {
		c.stats.failed("connect")
		return fmt.Errorf("time: %w", err)
	}
	c.measured(clockguard.Sample{Sent: sent, Received: received, Server: now})
	return nil
}

// measured adds an answer of Redis that has its time.
func (c *fleetClock) measured(sample clockguard.Sample) {
	c.skew.Add(sample)
	_, within, _ := c.skew.Server(sample.Received)
	c.stats.ahead.Store(int64(c.ahead()))
	c.stats.within.Store(int64(within))
}

// redisTime returns Redis' time as far as this node knows it; before the first
// measurement, the node's own.
func (c *fleetClock) redisTime() time.Time {
	if now, _, ok := c.skew.Server(clockguard.Read().Mono); ok {
		return now
	}
	return c.node.Epoch(c.node.Now())
}

// ahead returns how far the time that this node reports is ahead of Redis'.
func (c *fleetClock) ahead() time.Duration {
	now := c.redisTime()
	return c.node.Epoch(c.node.Now()).Round(0).Sub(now)
}

// redisServer is a connection to one Redis.
type redisServer interface {
	Time(ctx context.Context) *goredis.TimeCmd
}

// master returns the Redis that stores the list and whose clock is the fleet's.
func (c *fleetClock) master(ctx context.Context) (redisServer, error) {
	if cluster, ok := c.client.(*goredis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, c.names.nodes)
	}
	return c.client, nil
}

// judge compares the clocks of the live nodes with Redis' and with each
// other, and raises alarms about the wrong ones.
func (c *fleetClock) judge(alive []aggregator.Heartbeat) {
	skews := []aggregator.Skew{{Node: c.config.Node, Ahead: c.ahead()}}
	for _, b := range alive {
		if b.Node != c.config.Node {
			skews = append(skews, aggregator.Skew{Node: b.Node, Ahead: time.Duration(b.AheadMS * float64(time.Millisecond))})
		}
	}
	verdict := aggregator.JudgeClocks(skews, c.config.MaxSkew)
	wrong := verdict.Texts()
	for about, text := range wrong {
		c.node.Alarm("clock", about, text)
	}
	for about := range c.wrong {
		if wrong[about] == "" {
			c.node.Calm("clock", about)
		}
	}
	c.wrong, c.redisWrong = wrong, verdict.Redis
}

// follow passes to the node how far its wall clock is from the fleet's.
func (c *fleetClock) follow() {
	if offset, _, ok := c.skew.Offset(clockguard.Read()); ok {
		c.node.Skew(offset, !c.redisWrong)
	}
}
