package redis

import (
	"context"
	"fmt"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/clockguard"
)

// owedMost bounds the keys that wait to be forgotten in Redis; what finds no
// room runs out there by itself, 70 slots after its last push.
const maxClears = 1 << 16

// floor is the first slot of a key that counts, and its meter's width in
// seconds.
type clearedBefore struct{ slot, width uint32 }

// clears are the keys that were unblocked and are still to be forgotten in
// Redis. Safe for concurrent use.
type clearQueue struct {
	waiting chan struct{} // signalled when there are some

	mu    sync.Mutex // guards marks
	marks map[aggregator.Key]clearedBefore
}

// forgets reports whether a record says that the counts of its prefix begin
// anew: an unblock does, and the end of an allowance does not.
func forgets(b *edgeguard.Block) bool { return b.Lifted && !b.Allow }

// clearLifted clears what was unblocked in the last window: by this node before
// it was in the fleet, or while it was away. Older unblocks are of slots that
// have left every window. Since then the keys may have counted anew, which
// forgetting them left untold: they are watched.
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

// clear takes an unblocked prefix out of what the node pushes, and gives the
// keys that were. The tombstone's times are local.
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

// floor is that of a key whose prefix was unblocked at the epoch's time at;
// false if this node has no such meter.
func clearedAt(n Counter, k aggregator.Key, at time.Time) (clearedBefore, bool) {
	width := n.Width(k.Meter)
	if width == 0 {
		return clearedBefore{}, false
	}
	return clearedBefore{clockguard.Slot(at, width) + 1, width}, true
}

// forget carries out what is owed; what fails stays owed.
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

// floored is a key whose slots below floor no longer count.
type clearedKey struct {
	key aggregator.Key
	clearedBefore
}

// Forget takes counts of keys out of Redis: slots below the one after at's.
// Unlike the rest of a Pusher it may be called beside a round.
func (p *Pusher) Forget(ctx context.Context, keys []aggregator.Key, at time.Time) error {
	some := make([]clearedKey, 0, len(keys))
	for _, k := range keys {
		if one, ok := clearedAt(p.node, k, at); ok {
			some = append(some, clearedKey{k, one})
		}
	}
	return p.forget(ctx, some)
}

// forget is Forget with the floors reckoned.
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
			pipe.FCall(ctx, functionName("forget"), some, at.slot, at.width)
		}
	}
	if pipe.Len() == 0 {
		return nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		p.stats.failed("forget")
		return fmt.Errorf("unblock %d keys: %w", len(keys), err)
	}
	return nil
}
