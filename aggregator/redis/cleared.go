package redis

import (
	"context"
	"fmt"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/redis/library"
	"edgeguard/clockguard"
)

// maxClears bounds the keys that wait to be forgotten in Redis. The counts of a
// key that does not fit expire there 70 slots after its last push.
const maxClears = 1 << 16

// clearedBefore is the first slot of a key that counts, and its meter's width
// in seconds.
type clearedBefore struct{ slot, width uint32 }

// clearQueue has the keys that were unblocked and are still to be forgotten in
// Redis. It is safe for concurrent use.
type clearQueue struct {
	waiting chan struct{} // signalled when there are some

	mu    sync.Mutex // guards marks
	marks map[aggregator.Key]clearedBefore
}

// forgets reports whether a record makes the counts of its prefix start again:
// an unblock does, the end of an allowance does not.
func forgets(b *edgeguard.Block) bool { return b.Lifted && !b.Allow }

// clearLifted repeats the unblocks of the last window, made before this node
// joined or while it was away. Older ones concern only slots that have left
// every window. The keys may have counted since, and forgetting them left that
// unreported: so they are watched.
func (l *Link) clearLifted() {
	now := l.node.Now()
	for b := range l.node.Records() {
		if !forgets(&b) || !now.Before(b.Since.Add(l.config.Retention)) {
			continue
		}
		for _, k := range l.clear(b) {
			l.node.Counts().Watch(k, now)
		}
	}
}

// clear removes an unblocked prefix from what the node pushes, and returns its
// keys. The tombstone's times are local.
func (l *Link) clear(tombstone edgeguard.Block) []aggregator.Key {
	at := l.node.Epoch(tombstone.Since)
	keys := l.node.Counts().Forget(tombstone.Prefix, at)
	marks := make([]clearedKey, 0, len(keys))
	for _, k := range keys {
		if one, ok := clearedAt(l.node, k, at); ok {
			marks = append(marks, clearedKey{k, one})
		}
	}
	l.clears.add(marks)
	return keys
}

// add queues keys. Of two marks of a key the higher one is kept.
func (c *clearQueue) add(keys []clearedKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range keys {
		known, waits := c.marks[one.key]
		if !waits && len(c.marks) >= maxClears {
			continue
		}
		if c.marks == nil {
			c.marks = map[aggregator.Key]clearedBefore{}
		}
		one.slot = max(one.slot, known.slot)
		c.marks[one.key] = one.clearedBefore
	}
	signal(c.waiting)
}

// clearedAt returns the mark of a key whose prefix was unblocked at the epoch's
// time at; false if this node has no such meter.
func clearedAt(n Counter, k aggregator.Key, at time.Time) (clearedBefore, bool) {
	width := n.Width(k.Meter)
	if width == 0 {
		return clearedBefore{}, false
	}
	return clearedBefore{clockguard.Slot(at, width) + 1, width}, true
}

// forget forgets the queued keys in Redis; what fails stays queued.
func (l *Link) forget(ctx context.Context) error {
	owed := l.clears.take()
	for len(owed) > 0 {
		some := make([]clearedKey, 0, pipelined*callKeys)
		for k, one := range owed {
			if len(some) == cap(some) {
				break
			}
			some = append(some, clearedKey{k, one})
		}
		if err := l.pusher.forget(ctx, some); err != nil {
			l.clears.putBack(owed)
			return err
		}
		for _, one := range some {
			delete(owed, one.key)
		}
	}
	return nil
}

func (c *clearQueue) take() map[aggregator.Key]clearedBefore {
	c.mu.Lock()
	defer c.mu.Unlock()
	owed := c.marks
	c.marks = nil
	return owed
}

func (c *clearQueue) putBack(owed map[aggregator.Key]clearedBefore) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, one := range c.marks {
		one.slot = max(one.slot, owed[k].slot)
		owed[k] = one
	}
	c.marks = owed
	signal(c.waiting)
}

// clearedKey is a key whose slots below the mark no longer count.
type clearedKey struct {
	key aggregator.Key
	clearedBefore
}

// Forget removes counts of keys from Redis: slots up to the one of at. Unlike
// the rest of a Pusher it may be called during a round.
func (p *Pusher) Forget(ctx context.Context, keys []aggregator.Key, at time.Time) error {
	some := make([]clearedKey, 0, len(keys))
	for _, k := range keys {
		if one, ok := clearedAt(p.node, k, at); ok {
			some = append(some, clearedKey{k, one})
		}
	}
	return p.forget(ctx, some)
}

// forget is Forget for keys with their marks.
func (p *Pusher) forget(ctx context.Context, keys []clearedKey) error {
	type place struct {
		partition int
		clearedBefore
	}
	groups := map[place][]string{}
	for _, one := range keys {
		at := place{one.key.Partition(len(p.names.counts)), one.clearedBefore}
		groups[at] = append(groups[at], p.names.counts[at.partition]+string(one.key.Append(nil)))
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	pipe := p.client.Pipeline()
	for at, names := range groups {
		for len(names) > 0 {
			some := names[:min(callKeys, len(names))]
			names = names[len(some):]
			pipe.FCall(ctx, library.Function("forget"), some, at.slot, at.width)
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
