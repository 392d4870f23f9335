package redis

import (
	"context"
	"slices"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
)

const (
	// askAgain is after how long a key is put on the watch list again for who
	// looks at it: a window is five minutes mostly, and a node may have missed it.
	askAgain = 15 * time.Second
	// mostAsked bounds what is remembered of that.
	mostAsked = 1024
	// settling is how long the nodes have to push what they hold of a key that
	// has just been put on the watch list.
	settling = 300 * time.Millisecond
)

// Share is what one node has of a key: all its runs together.
type NodeCount struct {
	Node  string
	Count uint32
}

// asked are the keys that were put on the watch list for who looks at them.
type recentAsks struct {
	mu   sync.Mutex
	last map[aggregator.Key]time.Time
}

// fresh takes out the keys that were asked for lately, and notes the others.
func (a *recentAsks) fresh(keys []aggregator.Key, now time.Time) []aggregator.Key {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil || len(a.last)+len(keys) > mostAsked {
		a.last = make(map[aggregator.Key]time.Time)
	}
	var out []aggregator.Key
	for _, k := range keys {
		if last, ok := a.last[k]; !ok || now.Sub(last) >= askAgain {
			a.last[k] = now
			out = append(out, k)
		}
	}
	return out
}

// Shares gives what each node counts of keys, those that count most first. A
// node that is far from the limit keeps to itself what it counts: the keys are
// put on the fleet's watch list first, and settle waits for what the nodes then
// push. It waits for Redis, at most the config's timeout. A key that no node
// counts has none.
func (l *Link) NodeCounts(ctx context.Context, keys []aggregator.Key, settle bool) ([][]NodeCount, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	if fresh := l.asked.fresh(keys, time.Now()); len(fresh) > 0 {
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
		name := l.pusher.names.counts[k.Partition(len(l.pusher.names.counts))] + string(k.Append(nil))
		cmds[i] = pipe.FCallRO(ctx, functionName("split"), []string{name}, l.fleetNow().Unix()/int64(width))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		l.stats.failed("split")
		return nil, err
	}
	out := make([][]NodeCount, len(keys))
	for i, cmd := range cmds {
		if cmd == nil {
			continue
		}
		answer, _ := cmd.Slice() // Exec has told of errors
		out[i] = l.pusher.nodeCounts(answer)
	}
	return out, nil
}

// ofOneNode adds up the runs of a node, and puts those that count most first.
func sumByNode(parts []NodeCount) []NodeCount {
	var out []NodeCount
	for _, p := range parts {
		if i := slices.IndexFunc(out, func(q NodeCount) bool { return q.Node == p.Node }); i >= 0 {
			out[i].Count += p.Count // each at most 60 times 65,535
		} else {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, byCount)
	return out
}
