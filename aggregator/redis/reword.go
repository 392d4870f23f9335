package redis

import (
	"context"
	"fmt"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/outbox"
	"edgeguard/aggregator/redis/library"
)

// unsplit is a change whose reason lacks the split over the nodes.
type unsplit struct {
	at   int // in the changes
	key  aggregator.Key
	here uint32
	cmd  *goredis.Cmd
}

// reword adds to the reasons of this node's own blocks which node counted how
// much, before other nodes receive them: a decision waits for nothing and knows
// only the sum of the others. The node's list is changed, too, so that all
// copies agree. If the split cannot be read, the reasons stay as they are.
func (l *Link) reword(ctx context.Context, changes []outbox.Change) {
	var some []unsplit
	for i, c := range changes {
		if key, here, ok := l.node.Unsplit(c.Block); ok && l.node.Width(key.Meter) != 0 {
			some = append(some, unsplit{at: i, key: key, here: here})
		}
	}
	if len(some) == 0 || !l.split(ctx, some) {
		return
	}
	for _, u := range some {
		if reason, ok := l.reason(u); ok {
			c := &changes[u.at]
			c.Block = l.node.Reword(c.Block, reason)
		}
	}
}

// split reads the splits from Redis.
func (l *Link) split(ctx context.Context, some []unsplit) (ok bool) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	pipe, names := l.client.Pipeline(), l.pusher.names
	for i, u := range some {
		some[i].cmd = pipe.FCallRO(ctx, library.Function("split"), []string{names.suspect(u.key)}, l.fleetNow().Unix()/int64(l.node.Width(u.key.Meter)))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		l.stats.failed("split")
		l.stats.note(fmt.Errorf("split over the nodes: %w", err))
		return false
	}
	return true
}

// reason returns a block's reason with the split. What this node counted since
// its last push is not in Redis yet, but known here.
func (l *Link) reason(u unsplit) (words string, ok bool) {
	answer, _ := u.cmd.Slice() // Exec has returned the errors
	parts := l.pusher.nodeCounts(answer)
	own := slices.IndexFunc(parts, func(p aggregator.NodeCount) bool { return p.Node == l.config.Node })
	if own < 0 {
		own = len(parts)
		parts = append(parts, aggregator.NodeCount{Node: l.config.Node})
	}
	parts[own].Count = max(parts[own].Count, u.here)
	return aggregator.SplitReason(parts), len(parts) > 1
}
