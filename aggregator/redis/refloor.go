package redis

import (
	"context"
	"fmt"
	"time"

	"edgeguard/aggregator"
)

// forged applies what an answer shows of another client that writes to Redis.
func (c *clearing) forged(push *aggregator.Push, out aggregator.Outcome, now time.Time) {
	if out.Floor != 0 {
		c.floors.NoteMark(push.Key, aggregator.ClearedMark{Slot: out.Floor, Width: push.Width}, now)
	}
	if out.Forged && c.floors.Forged(push.Key, now) {
		// One alarm for all keys: who forges can do it of thousands.
		c.node.Alarm("forged", "counts", fmt.Sprintf("Redis has counts of %s in this node's name that this node did not make: another client writes to Redis: if the address was blocked by them, remove the block", push.Key.Prefix))
	}
}

// refloor takes back cleared-before marks in Redis that no unblock explains, be
// it one that has only arrived in the fleet's list. The key is emptied with its
// mark, and all nodes push it in full. Those that know an unblock of it, which is
// older, set their mark again.
func (c *clearing) refloor(ctx context.Context, now time.Time) error {
	due, marks, forged := c.floors.DueMarks(now)
	if !marks {
		c.node.Calm("forged", "marks")
	}
	if !forged {
		c.node.Calm("forged", "counts")
	}
	for _, one := range due {
		if one.Key.HasAddress() && c.mirror.Lifts(one.Key.Prefix) {
			continue
		}
		c.node.Alarm("forged", "marks", fmt.Sprintf("Redis counts nothing of %s, as after an unblock, and there was none: another client writes to Redis: the mark is taken back", one.Key.Prefix))
		bounded, cancel := context.WithTimeout(ctx, c.config.Timeout)
		err := c.client.FCall(bounded, function("forget"), []string{c.names.suspect(one.Key)}, 0, one.Width, one.Slot).Err()
		cancel()
		if err != nil {
			c.stats.failed("forget")
			return fmt.Errorf("forget a mark without an unblock: %w", err)
		}
	}
	return nil
}
