package redis

import (
	"context"
	"fmt"
	"time"

	"edgeguard/aggregator/fleet"

	goredis "github.com/redis/go-redis/v9"
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

// mergeWholeList reads and merges the whole list, then publishes what this node knows
// better. s was read before: changes made since then come again by the stream,
// which is read from s.Tip on.
func (r *listReader) mergeWholeList(ctx context.Context, s fleet.State) error {
	r.mirror.Begin(s.Changes)
	r.noRoom.Store(false)
	if r.scanFailed {
		shrink(ctx, r.client, r.config.Timeout, r.names.macs, r.names.blocks)
	}
	if err := r.readAll(ctx); err != nil {
		r.stats.failed("sync")
		return err
	}
	r.mirror.DropUnread()
	if !r.noRoom.Load() {
		r.node.Calm("no_room", "list")
	}
	if r.config.Monitor {
		r.stats.syncs.Add(1)
		return nil
	}
	_, err := r.publisher.publish(ctx, r.publisher.unpaced(r.stats.syncs.Add(1) == 1))
	return err
}

// unpaced returns what a full read publishes immediately: what the fleet had
// before, and may have lost. Blocks of rules that wait keep their turn. Of a node
// that has just started, its own blocks that the fleet lacks wait as well: they
// may have waited when it stopped, and what the fleet had, other nodes have.
func (p *publisher) unpaced(first bool) (some []fleet.Change) {
	for _, c := range p.ownRecords() {
		switch {
		case !c.IsPaced():
			some = append(some, c)
		case p.outbox.Waits(c.Block.Prefix):
		case first && c.Block.Origin == p.config.Node:
			if p.lacks(c) {
				p.outbox.Add(c)
			}
		default:
			some = append(some, c)
		}
	}
	return some
}

// readAll reads the hash of MACs and then that of records. A record that changes
// between the two comes again by the stream.
func (r *listReader) readAll(ctx context.Context) error {
	macs, judge, again := map[string]string{}, r.keys.judge.Load(), r.signAll.Swap(false)
	if judge.Signs() {
		if err := r.scan(ctx, r.names.macs, func(prefix, mac string) { macs[prefix] = mac }); err != nil {
			return err
		}
	}
	return r.scan(ctx, r.names.blocks, func(prefix, record string) {
		j := r.keys.check(prefix, record, macs[prefix])
		mark := j.ledgerMark()
		mark.Signed = mark.Signed && !(again && !judge.ByFirst(macs[prefix]))
		r.mirror.Apply(prefix, record, mark)
		r.merge(prefix, j, false)
	})
}

// scan reads a hash by prefixes step by step, so that it neither holds up Redis
// nor fills this node's memory.
func (r *listReader) scan(ctx context.Context, hash string, each func(prefix, value string)) error {
	read := 0
	step := int64(scanned)
	if r.scanFailed {
		step = scannedAgain
	}
	for cursor := uint64(0); ; {
		bounded, cancel := context.WithTimeout(ctx, r.config.Timeout)
		pairs, next, err := r.client.HScan(bounded, hash, cursor, "", step).Result()
		cancel()
		if r.scanFailed = err != nil; err != nil {
			return fmt.Errorf("read the fleet's blocks: %w", err)
		}
		for ; len(pairs) >= 2; pairs = pairs[2:] {
			each(pairs[0], pairs[1])
			read++
		}
		if read > mostRecords {
			return fmt.Errorf("the fleet's list has over %d records: %w", mostRecords, errLarge)
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// ownRecords returns this node's records that still matter to the fleet:
// active blocks, and tombstones that are still remembered.
func (p *publisher) ownRecords() []fleet.Change {
	var out []fleet.Change
	now := p.node.Now()
	for b, t := range p.node.Records() {
		if c := (fleet.Change{Block: b, Trust: t}); c.Matters(now, p.config.Retention) {
			out = append(out, c)
		}
	}
	return out
}

// shrink removes what is too long for a fleet's record from hashes of Redis that could
// not be read in time. Each step may take so long. It ignores errors: they come again
// where a hash is read.
func shrink(ctx context.Context, client goredis.UniversalClient, timeout time.Duration, hashes ...string) {
	for _, hash := range hashes {
		for cursor := "0"; ; {
			step, cancel := context.WithTimeout(ctx, timeout)
			next, err := client.FCall(step, function("shrink"), []string{hash}, cursor).Text()
			cancel()
			if cursor = next; err != nil || cursor == "0" {
				break
			}
		}
	}
}
