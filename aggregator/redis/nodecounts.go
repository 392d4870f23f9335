package redis

import (
	"context"
	"slices"
	"time"

	"edgeguard/aggregator"
	"edgeguard/clockguard"
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
	splits, err := l.presentSplits(ctx, keys)
	if err != nil {
		return nil, err
	}
	out := make([][]aggregator.NodeCount, len(keys))
	for i, fields := range splits {
		out[i] = aggregator.SplitByNode(fields, l.nodes.Name)
	}
	return out, nil
}

// presentSplits returns the split of each key in the present window; that of a key
// whose meter a reload dropped is empty.
func (l *Link) presentSplits(ctx context.Context, keys []aggregator.Key) ([][]aggregator.SplitField, error) {
	looks := make([]aggregator.SplitLook, len(keys))
	for i, k := range keys {
		if looks[i].Key = k; l.node.Width(k.Meter) != 0 {
			looks[i].Heads = []uint32{clockguard.Slot(l.fleetNow(), l.node.Width(k.Meter))}
		}
	}
	splits, err := l.pusher.splits(ctx, looks)
	if err != nil {
		l.stats.failed("split")
		return nil, err
	}
	out := make([][]aggregator.SplitField, len(keys))
	for i := range splits {
		out[i] = slices.Concat(splits[i]...)
	}
	return out, nil
}
