package redis

import (
	"context"
	"fmt"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/redis/library"
	"edgeguard/blocklist"
)

// publishBatch is the most records of one call: 50 KB.
const publishBatch = 50

// change is a block or allowance of this node's list that the fleet may lack.
type change struct {
	block edgeguard.Block
	trust blocklist.Trust
}

// Changed queues a change of the node's list to be published; times are local.
// It never waits: if the queue is full, a full sync publishes the change. What
// came from the fleet is recognized and not published. An unblock also removes
// the prefix's counts from what the node pushes, immediately, and from Redis.
func (l *Link) Changed(b edgeguard.Block, t blocklist.Trust) {
	if forgets(&b) {
		l.clear(b)
	}
	if l.config.Monitor {
		return
	}
	select {
	case l.queue <- change{b, t}:
	default:
		signal(l.resync)
	}
}

// publishLoop publishes changes in the order in which the list made them,
// forgets unblocked keys in Redis, and replaces what is wrong there.
func (l *Link) publishLoop(ctx context.Context) error {
	seconds := time.NewTicker(time.Second)
	defer seconds.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-l.queue:
			err = l.publish(ctx, l.drain([]change{c}))
		case <-l.clears.Waiting:
			err = l.forget(ctx)
		case <-seconds.C:
			err = l.housekeep(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// drain adds the other queued changes, up to one call's worth.
func (l *Link) drain(some []change) []change {
	for len(some) < publishBatch {
		select {
		case c := <-l.queue:
			some = append(some, c)
		default:
			return some
		}
	}
	return some
}

// publish sends records to the fleet, which accepts those that are greater than
// its own. Records that the fleet is known to have are left out.
func (l *Link) publish(ctx context.Context, changes []change) error {
	for len(changes) > 0 {
		some := changes[:min(publishBatch, len(changes))]
		changes = changes[len(some):]
		l.reword(ctx, some)
		args := []any{l.fleetNow().UnixMilli()}
		var sent []change
		for _, c := range some {
			record, mac, ok := l.encode(c)
			switch {
			case !ok || !l.mirror.Missing(c.block.Prefix.String(), record, mac):
			case c.byRule() && l.crowded.Has(c.block.Prefix, time.Now()):
				l.keptHere(c)
			default:
				args = append(args, c.block.Prefix.String(), record)
				if !l.older.Load() {
					args = append(args, mac)
				}
				sent = append(sent, c)
			}
		}
		if len(sent) == 0 {
			continue
		}
		answers, err := l.callPublish(ctx, args)
		if err != nil {
			return err
		}
		l.applyPublished(sent, answers)
	}
	return nil
}

// The library's answers about a published record; one that only gets another MAC
// is answered 3.
const (
	publishTaken  = 1
	publishNoRoom = 2
)

func (l *Link) applyPublished(sent []change, answers []int64) {
	for i, c := range sent[:min(len(sent), len(answers))] {
		switch answers[i] {
		case publishTaken:
			l.stats.published.Add(1)
		case publishNoRoom:
			if c.byRule() {
				l.crowded.Add(c.block.Prefix, time.Now())
			}
			if l.node.Now().Before(c.block.Until) { // an ended block needs no room
				l.keptHere(c)
			}
		}
	}
}

func (l *Link) callPublish(ctx context.Context, args []any) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	keys := l.pusher.names.signedKeys()
	if l.older.Load() {
		keys = l.pusher.names.publishKeys()
	}
	taken, err := l.client.FCall(ctx, library.Function("publish"), keys, args...).Int64Slice()
	if err != nil {
		l.stats.failed("publish")
		return nil, fmt.Errorf("publish %d blocks: %w", len(args)/(len(keys)-2), err)
	}
	return taken, nil
}

// encode returns a change as it is published, with its MAC, and reports whether
// the other nodes would accept it.
func (l *Link) encode(c change) (record, mac string, ok bool) {
	r := aggregator.Record{Block: c.block, Forced: c.trust.Forced, Retention: l.config.Retention}
	r.Block.Since, r.Block.Until = l.node.Epoch(c.block.Since), l.node.Epoch(c.block.Until)
	record, err := r.Encode()
	if err == nil && len(record) > aggregator.MaxRecord {
		err = fmt.Errorf("block of %s takes %d bytes: not over %d: shorten its rule or reason", c.block.Prefix, len(record), aggregator.MaxRecord)
	}
	if err != nil {
		l.stats.failed("publish")
		l.stats.note(err)
		return "", "", false
	}
	mac, ok = l.judge.Load().MAC(c.block.Prefix.String(), record, c.trust)
	return record, mac, ok
}
