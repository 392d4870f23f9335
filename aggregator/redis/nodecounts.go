package redis

import (
	"context"
	"slices"
	"time"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/clockguard"
	"edgeguard/internal/sleep"
)

// settling is how long the nodes have to push what they have of a key that was
// just added to the watch list.
const settling = 300 * time.Millisecond

// nodeCounts asks the fleet's nodes what each of them counts of a key. It is safe
// for concurrent use.
type nodeCounts struct {
	*wire
	clock  *fleetClock
	nodes  *fleet.Roster
	pushes *pushLoop
	asked  aggregator.RecentWatches // keys whose node counts were asked for
}

// readSplits returns what each node counts of keys; see [Link.NodeCounts].
func (n *nodeCounts) readSplits(ctx context.Context, keys []aggregator.Key, settle bool) ([][]aggregator.NodeCount, error) {
	ctx, cancel := context.WithTimeout(ctx, n.config.Timeout)
	defer cancel()
	if fresh := n.asked.New(keys, time.Now()); len(fresh) > 0 {
		if err := n.pushes.pusher.addWatches(ctx, fresh); err != nil {
			return nil, err
		}
		for _, k := range fresh {
			n.pushes.pushNow(k)
		}
	}
	if settle {
		sleep.For(ctx, settling)
	}
	splits, err := n.present(ctx, keys)
	if err != nil {
		return nil, err
	}
	out := make([][]aggregator.NodeCount, len(keys))
	for i, fields := range splits {
		out[i] = aggregator.SplitByNode(fields, n.nodes.NodeName)
	}
	return out, nil
}

// present returns the split of each key in the present window; that of a key
// whose meter a reload dropped is empty.
func (n *nodeCounts) present(ctx context.Context, keys []aggregator.Key) ([][]aggregator.SplitField, error) {
	looks := make([]aggregator.SplitLook, len(keys))
	for i, k := range keys {
		if looks[i].Key = k; n.node.Width(k.Meter) != 0 {
			looks[i].Heads = []uint32{clockguard.Slot(n.clock.redisTime(), n.node.Width(k.Meter))}
		}
	}
	splits, err := n.pushes.pusher.splits(ctx, looks)
	if err != nil {
		n.stats.failed("split")
		return nil, err
	}
	out := make([][]aggregator.SplitField, len(keys))
	for i := range splits {
		out[i] = slices.Concat(splits[i]...)
	}
	return out, nil
}
