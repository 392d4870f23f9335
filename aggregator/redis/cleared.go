package redis

import (
	"context"
	"fmt"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/clockguard"
)

// clearing owes Redis the keys that are to be forgotten there after an unblock, and
// watches its marks of them. It is safe for concurrent use.
type clearing struct {
	*wire
	pusher *Pusher // whose forget may be called during a round
	mirror *fleet.Mirror
	queue  *aggregator.ClearedQueue // keys to be forgotten in Redis
	floors aggregator.ClearedFloors // marks in Redis without an unblock
}

// repeat repeats the unblocks of the last window, made before this node
// joined or while it was away. Older ones concern only slots that have left
// every window. The keys may have counted since, and forgetting them left that
// unreported: so they are watched.
func (c *clearing) repeat() {
	now := c.node.Now()
	for b := range c.node.Records() {
		if !b.Forgets() || !now.Before(b.Since.Add(c.config.Retention)) {
			continue
		}
		for _, k := range c.clear(b) {
			c.node.Counts().Watch(k, now)
		}
	}
}

// clear removes an unblocked prefix from what the node pushes, and returns its
// keys. The tombstone's times are local.
func (c *clearing) clear(tombstone edgeguard.Block) []aggregator.Key {
	at := c.node.Epoch(tombstone.Since)
	forget := c.node.Counts().Forget
	if tombstone.Pardons() {
		forget = c.node.Counts().Pardon
	}
	keys := forget(tombstone.Prefix, at)
	marks := make([]aggregator.Cleared, 0, len(keys))
	for _, k := range keys {
		if one, ok := clearedAt(c.node, k, at); ok {
			marks = append(marks, aggregator.Cleared{Key: k, ClearedMark: one})
		}
	}
	c.queue.Add(marks)
	return keys
}

// clearedAt returns the mark of a key whose prefix was unblocked at the epoch's
// time at; false if this node has no such meter.
func clearedAt(n Counter, k aggregator.Key, at time.Time) (aggregator.ClearedMark, bool) {
	width := n.Width(k.Meter)
	if width == 0 {
		return aggregator.ClearedMark{}, false
	}
	return aggregator.ClearedMark{Slot: clockguard.Slot(at, width) + 1, Width: width}, true
}

// forget forgets the queued keys in Redis; what fails stays queued.
func (c *clearing) forget(ctx context.Context) error {
	owed := c.queue.TakeAll()
	for len(owed) > 0 {
		some := make([]aggregator.Cleared, 0, pipelined*callKeys)
		for k, one := range owed {
			if len(some) == cap(some) {
				break
			}
			some = append(some, aggregator.Cleared{Key: k, ClearedMark: one})
		}
		if err := c.pusher.forget(ctx, some); err != nil {
			c.queue.PutBack(owed)
			return err
		}
		for _, one := range some {
			delete(owed, one.Key)
		}
	}
	return nil
}

// forget removes counts of keys from Redis: slots below their marks. Unlike the
// rest of a Pusher it may be called during a round.
func (p *Pusher) forget(ctx context.Context, keys []aggregator.Cleared) error {
	type place struct {
		partition int
		aggregator.ClearedMark
	}
	groups := map[place][]string{}
	for _, one := range keys {
		at := place{one.Key.Partition(len(p.names.counts)), one.ClearedMark}
		groups[at] = append(groups[at], p.names.counts[at.partition]+string(one.Key.Append(nil)))
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	pipe := p.client.Pipeline()
	for at, names := range groups {
		for len(names) > 0 {
			some := names[:min(callKeys, len(names))]
			names = names[len(some):]
			pipe.FCall(ctx, function("forget"), some, at.Slot, at.Width)
		}
	}
	if pipe.Len() == 0 {
		return nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		p.stats.failed("forget")
		return fmt.Errorf("forget %d unblocked keys: %w", len(keys), err)
	}
	return nil
}
