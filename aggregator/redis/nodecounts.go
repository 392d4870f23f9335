package redis

import (
	"context"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/redis/library"
)

// settling is how long the nodes have to push what they have of a key that was
// just added to the watch list.
const settling = 300 * time.Millisecond

// NodeCounts returns what each node counts of keys, the greatest count first. A
// node that is far from the limit does not report what it counts: so the keys
// are added to the fleet's watch list first, and with settle the call waits for
// what the nodes then push. It waits for Redis, at most the config's timeout. A
// key that no node counts has none.
func (l *Link) NodeCounts(ctx context.Context, keys []aggregator.Key, settle bool) ([][]aggregator.NodeCount, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	if fresh := l.asked.New(keys, time.Now()); len(fresh) > 0 {
		if err := l.pusher.addWatches(ctx, fresh); err != nil {
			return nil, err
		}
		for _, k := range fresh {
			l.PushNow(k)
		}
	}
	if settle {
		sleep(ctx, settling)
	}
	pipe := l.client.Pipeline()
	cmds := make([]*goredis.Cmd, len(keys))
	for i, k := range keys {
		width := l.node.Width(k.Meter)
		if width == 0 {
			continue // a reload dropped it
		}
		cmds[i] = pipe.FCallRO(ctx, library.Function("split"), []string{l.pusher.names.suspect(k)}, l.fleetNow().Unix()/int64(width))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		l.stats.failed("split")
		return nil, err
	}
	out := make([][]aggregator.NodeCount, len(keys))
	for i, cmd := range cmds {
		if cmd == nil {
			continue
		}
		answer, _ := cmd.Slice() // Exec has returned the errors
		out[i] = l.pusher.nodeCounts(answer)
	}
	return out, nil
}
