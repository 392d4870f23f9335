package redis

import (
	"context"
	"fmt"
	"slices"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
)

// reword adds to the reasons of this node's own blocks which node counted how
// much, before other nodes receive them: a decision waits for nothing and knows
// only the sum of the others. The node's list is changed, too, so that all
// copies agree. If the split cannot be read, the reasons stay as they are.
func (p *publisher) reword(ctx context.Context, changes []fleet.Change) {
	var at []int // in the changes
	var here []uint32
	var keys []aggregator.Key
	for i, c := range changes {
		if key, n, ok := p.node.Unsplit(c.Block); ok {
			at, here, keys = append(at, i), append(here, n), append(keys, key)
		}
	}
	if len(at) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	splits, err := p.counts.present(ctx, keys)
	if err != nil {
		p.stats.noteError(fmt.Errorf("split over the nodes: %w", err))
		return
	}
	for i := range at {
		if split := p.split(splits[i], here[i]); len(split) > 1 {
			c := &changes[at[i]]
			c.Block = p.node.Reword(c.Block, split)
		}
	}
}

// split returns which node counted how much. What this node counted since its last
// push is not in Redis yet, but known here.
func (p *publisher) split(fields []aggregator.SplitField, here uint32) []aggregator.NodeCount {
	parts := aggregator.SplitByNode(fields, p.nodes.NodeName)
	own := slices.IndexFunc(parts, func(part aggregator.NodeCount) bool { return part.Node == p.config.Node })
	if own < 0 {
		own = len(parts)
		parts = append(parts, aggregator.NodeCount{Node: p.config.Node})
	}
	parts[own].Count = max(parts[own].Count, here)
	return parts
}
