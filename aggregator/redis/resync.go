package redis

import (
	"context"
	"fmt"

	"edgeguard/aggregator/fleet"
)

const (
	// scanned is about how many records one step of a full read requests, and
	// scannedAgain after one that failed: for an answer that is larger than a node
	// reads, Redis may take longer than a node waits.
	scanned, scannedAgain = 1000, 100
	// mostRecords bounds a full read: Redis keeps half as many, so another client
	// wrote to it.
	mostRecords = 1 << 20
)

// fullSync reads and merges the whole list, then publishes what this node knows
// better. s was read before: changes made since then come again by the stream,
// which is read from s.Tip on.
func (l *Link) fullSync(ctx context.Context, s fleet.State) error {
	l.mirror.Begin(s.Changes)
	l.noRoom.Store(false)
	if l.scanFailed {
		shrinkBatches(ctx, l.client, l.config.Timeout, l.pusher.names.macs, l.pusher.names.blocks)
	}
	if err := l.readList(ctx); err != nil {
		l.stats.failed("sync")
		return err
	}
	l.mirror.End()
	if !l.noRoom.Load() {
		l.node.Calm("no_room", "list")
	}
	if l.config.Monitor {
		l.stats.syncs.Add(1)
		return nil
	}
	_, err := l.publish(ctx, l.unpaced(l.stats.syncs.Add(1) == 1))
	return err
}

// unpaced returns what a full read publishes immediately: what the fleet had
// before, and may have lost. Blocks of rules that wait keep their turn. Of a node
// that has just started, its own blocks that the fleet lacks wait as well: they
// may have waited when it stopped, and what the fleet had, other nodes have.
func (l *Link) unpaced(first bool) (some []fleet.Change) {
	for _, c := range l.liveRecords() {
		switch {
		case !c.ByRule():
			some = append(some, c)
		case l.outbox.Waits(c.Block.Prefix):
		case first && c.Block.Origin == l.config.Node:
			if l.lacks(c) {
				l.outbox.Add(c)
			}
		default:
			some = append(some, c)
		}
	}
	return some
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
	step := int64(scanned)
	if l.scanFailed {
		step = scannedAgain
	}
	for cursor := uint64(0); ; {
		bounded, cancel := context.WithTimeout(ctx, l.config.Timeout)
		pairs, next, err := l.client.HScan(bounded, hash, cursor, "", step).Result()
		cancel()
		if l.scanFailed = err != nil; err != nil {
			return fmt.Errorf("read the fleet's blocks: %w", err)
		}
		for ; len(pairs) >= 2; pairs = pairs[2:] {
			each(pairs[0], pairs[1])
			read++
		}
		if read > mostRecords {
			return fmt.Errorf("the fleet's list has over %d records: %w", mostRecords, ErrLarge)
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// liveRecords returns this node's records that still matter to the fleet:
// active blocks, and tombstones that are still remembered.
func (l *Link) liveRecords() []fleet.Change {
	var out []fleet.Change
	now := l.node.Now()
	for b, t := range l.node.Records() {
		if c := (fleet.Change{Block: b, Trust: t}); c.Matters(now, l.config.Retention) {
			out = append(out, c)
		}
	}
	return out
}
