package redis

import (
	"context"
	"fmt"
	"time"

	"edgeguard"
	"edgeguard/aggregator/roster"
)

const (
	// scanned is about how many records one step of a full read requests.
	scanned = 1000
	// mostRecords bounds a full read: a Redis with more is not the fleet's, or
	// another client wrote to it.
	mostRecords = 1 << 21
)

// fullSync reads and merges the whole list, then publishes what this node knows
// better. s was read before: changes made since then come again by the stream,
// which is read from s.Tip on.
func (l *Link) fullSync(ctx context.Context, s roster.State) error {
	l.mirror.Begin(s.Changes)
	l.noRoom.Store(false)
	if err := l.readList(ctx); err != nil {
		l.stats.failed("sync")
		return err
	}
	l.mirror.End()
	if !l.noRoom.Load() {
		l.node.Calm("no_room", "list")
	}
	l.stats.syncs.Add(1)
	if l.config.Monitor {
		return nil
	}
	return l.publish(ctx, l.liveRecords())
}

// readList reads the hash of MACs and then that of records. A record that changes
// between the two comes again by the stream.
func (l *Link) readList(ctx context.Context) error {
	macs, judge, again := map[string]string{}, l.judge.Load(), l.signAll.Swap(false)
	if judge.Signs() {
		if err := l.scan(ctx, l.pusher.names.macs, func(prefix, mac string) { macs[prefix] = mac }); err != nil {
			return err
		}
	}
	return l.scan(ctx, l.pusher.names.blocks, func(prefix, record string) {
		j := l.check(prefix, record, macs[prefix])
		mark := j.mark()
		mark.Signed = mark.Signed && !(again && !judge.ByFirst(macs[prefix]))
		l.mirror.Apply(prefix, record, mark)
		l.merge(prefix, j, false)
	})
}

// scan reads a hash by prefixes step by step, so that it neither holds up Redis
// nor fills this node's memory.
func (l *Link) scan(ctx context.Context, hash string, each func(prefix, value string)) error {
	read := 0
	for cursor := uint64(0); ; {
		bounded, cancel := context.WithTimeout(ctx, l.config.Timeout)
		pairs, next, err := l.client.HScan(bounded, hash, cursor, "", scanned).Result()
		cancel()
		if err != nil {
			return fmt.Errorf("read the fleet's blocks: %w", err)
		}
		for ; len(pairs) >= 2; pairs = pairs[2:] {
			each(pairs[0], pairs[1])
			read++
		}
		if read > mostRecords {
			return fmt.Errorf("the fleet's list has over %d records: check which clients write to %s", mostRecords, hash)
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// liveRecords returns this node's records that still matter to the fleet:
// active blocks, and tombstones that are still remembered.
func (l *Link) liveRecords() []change {
	var out []change
	now := l.node.Now()
	for b, t := range l.node.Records() {
		if matters(b, now, l.config.Retention) {
			out = append(out, change{b, t})
		}
	}
	return out
}

func matters(b edgeguard.Block, now time.Time, retention time.Duration) bool {
	if b.Lifted {
		return now.Before(b.Until.Add(retention))
	}
	return now.Before(b.Until)
}
