package redis

import (
	"context"
	"fmt"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/blocklist"
)

const (
	// publishBatch is the most records of one call: 50 KB.
	publishBatch = 50
	// publishTurn is how often blocks of rules are published while more wait than
	// the pace allows.
	publishTurn = 250 * time.Millisecond
	// publishRounds bounds how many batches that turn out to be known to the fleet
	// are passed over at a turn.
	publishRounds = 8
)

// Changed queues a change of the node's list to be published; times are local.
// It never waits: if there is no room, a full sync publishes the change. What
// came from the fleet is recognized and not published. An unblock also removes
// the prefix's counts from what the node pushes, immediately, and from Redis.
func (l *Link) Changed(b edgeguard.Block, t blocklist.Trust) {
	if b.Forgets() {
		l.clear(b)
	}
	if l.config.Monitor {
		return
	}
	c := fleet.Change{Block: b, Trust: t}
	switch {
	case b.Origin != l.config.Node && !l.lacks(c):
		l.outbox.Drop(b.Prefix)
	case l.outbox.Add(c):
		signal(l.news)
	default:
		signal(l.resync)
	}
}

// lacks reports whether the fleet may lack a record that it would accept.
func (l *Link) lacks(c fleet.Change) bool {
	record, mac, ok := l.encode(c)
	return ok && l.mirror.Missing(c.Block.Prefix.String(), record, mac)
}

// publishLoop publishes changes, forgets unblocked keys in Redis, and replaces
// what is wrong there.
func (l *Link) publishLoop(ctx context.Context) error {
	seconds, turns := time.NewTicker(time.Second), time.NewTicker(publishTurn)
	defer seconds.Stop()
	defer turns.Stop()
	signal(l.news) // what has waited since the session before
	for behind := false; ; {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.news:
			if err = l.publishOperators(ctx); err == nil && !behind {
				behind, err = l.publishBlocks(ctx)
			}
		case <-turns.C:
			if behind {
				behind, err = l.publishBlocks(ctx)
			}
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

// publishOperators publishes what operators changed, in their order.
func (l *Link) publishOperators(ctx context.Context) error {
	_, err := l.publish(ctx, l.outbox.Operators())
	if err == nil {
		l.outbox.Sent()
	}
	return err
}

// publishBlocks publishes the blocks of rules whose turn it is, as the node's
// list has them now. It reports whether more wait. What it fails to send the full
// read of the next session publishes.
func (l *Link) publishBlocks(ctx context.Context) (behind bool, err error) {
	for range publishRounds {
		prefixes := l.outbox.Next(time.Now(), publishBatch)
		if len(prefixes) == 0 {
			break
		}
		var some []fleet.Change
		for _, p := range prefixes {
			if b, t, ok := l.node.Block(p); ok {
				some = append(some, fleet.Change{Block: b, Trust: t})
			}
		}
		sent, err := l.publish(ctx, some)
		if err != nil {
			return true, err
		}
		l.outbox.Return(len(prefixes) - sent)
	}
	return l.outbox.Len() > 0, nil
}

// publish sends records to the fleet, which accepts those that are greater than
// its own, and returns how many were sent: not those that the fleet is known to
// have.
func (l *Link) publish(ctx context.Context, changes []fleet.Change) (n int, err error) {
	for len(changes) > 0 {
		some := changes[:min(publishBatch, len(changes))]
		changes = changes[len(some):]
		l.reword(ctx, some)
		args := []any{l.fleetNow().UnixMilli()}
		var sent []fleet.Change
		for _, c := range some {
			record, mac, ok := l.encode(c)
			switch {
			case !ok || !l.mirror.Missing(c.Block.Prefix.String(), record, mac):
			case c.ByRule() && l.crowded.Has(c.Block.Prefix, time.Now()):
				l.keptHere(c)
			default:
				args = append(args, c.Block.Prefix.String(), record, mac)
				sent = append(sent, c)
			}
		}
		if len(sent) == 0 {
			continue
		}
		answers, err := l.callPublish(ctx, args)
		if err != nil {
			return n, err
		}
		n += len(sent)
		l.applyPublished(sent, answers)
	}
	return n, nil
}

// The library's answers about a published record; one that only gets another MAC
// is answered 3.
const (
	publishTaken  = 1
	publishNoRoom = 2
)

func (l *Link) applyPublished(sent []fleet.Change, answers []int64) {
	for i, c := range sent[:min(len(sent), len(answers))] {
		switch answers[i] {
		case publishTaken:
			l.stats.published.Add(1)
		case publishNoRoom:
			if c.ByRule() {
				l.crowded.Add(c.Block.Prefix, time.Now())
			}
			if l.node.Now().Before(c.Block.Until) { // an ended block needs no room
				l.keptHere(c)
			}
		}
	}
}

func (l *Link) callPublish(ctx context.Context, args []any) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	taken, err := l.client.FCall(ctx, Function("publish"), l.pusher.names.publishKeys(), args...).Int64Slice()
	if err != nil {
		l.stats.failed("publish")
		return nil, fmt.Errorf("publish %d blocks: %w", len(args)/3, err)
	}
	return taken, nil
}

// encode returns a change as it is published, with its MAC, and reports whether
// the other nodes would accept it.
func (l *Link) encode(c fleet.Change) (record, mac string, ok bool) {
	r := aggregator.Record{Block: c.Block, Forced: c.Trust.Forced, Retention: l.config.Retention}
	r.Block.Since, r.Block.Until = l.node.Epoch(c.Block.Since), l.node.Epoch(c.Block.Until)
	record, err := r.Encode()
	if err == nil && len(record) > aggregator.MaxRecord {
		err = fmt.Errorf("block of %s takes %d bytes: not over %d: shorten its rule or reason", c.Block.Prefix, len(record), aggregator.MaxRecord)
	}
	if err != nil {
		l.stats.failed("publish")
		l.stats.note(err)
		return "", "", false
	}
	mac, ok = l.judge.Load().MAC(c.Block.Prefix.String(), record, c.Trust)
	return record, mac, ok
}
