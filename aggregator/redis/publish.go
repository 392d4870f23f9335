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

// publisher carries changes of the node's list to the fleet. Queueing is safe for
// concurrent use, and so is publishing: who joins, the publish loop and a full read do
// it, and Redis accepts or refuses each record by itself.
type publisher struct {
	*wire
	keys    *keyring
	clock   *fleetClock
	nodes   *fleet.Roster
	mirror  *fleet.Mirror
	clears  *clearing
	counts  *nodeCounts
	outbox  *fleet.PacedQueue     // changes to be published
	news    chan struct{}         // the outbox has some
	resync  chan<- struct{}       // the outbox had no room: the whole list goes
	crowded fleet.CrowdedNetworks // networks of which the fleet keeps no more
}

// changed queues a change; see [Link.Changed].
func (p *publisher) changed(b edgeguard.Block, t blocklist.Trust) {
	if b.Forgets() {
		p.clears.clear(b)
	}
	if p.config.Monitor {
		return
	}
	c := fleet.Change{Block: b, Trust: t}
	switch {
	case b.Origin != p.config.Node && !p.lacks(c):
		p.outbox.DropBlock(b.Prefix)
	case p.outbox.Add(c):
		signal(p.news)
	default:
		signal(p.resync)
	}
}

// lacks reports whether the fleet may lack a record that it would accept.
func (p *publisher) lacks(c fleet.Change) bool {
	_, _, lacks := p.due(c)
	return lacks
}

// due returns a change as it is published, and reports whether it is to be: not what the
// fleet has, nor an extension that another node makes, or this one a little later.
func (p *publisher) due(c fleet.Change) (record, mac string, due bool) {
	prefix := c.Block.Prefix.String()
	record, mac, ok := p.encode(c)
	if !ok || !p.mirror.Missing(prefix, record, mac) {
		return "", "", false
	}
	ahead, extends := p.mirror.Ahead(prefix, record, mac)
	return record, mac, !extends || ahead <= 0 || ahead >= p.node.Slack(c.Block)
}

// operators publishes what operators changed, in their order.
func (p *publisher) operators(ctx context.Context) error {
	_, err := p.publish(ctx, p.outbox.Operators())
	if err == nil {
		p.outbox.OperatorsSent()
	}
	return err
}

// blocks publishes the blocks of rules whose turn it is, as the node's
// list has them now. It reports whether more wait. What it fails to send the full
// read of the next session publishes.
func (p *publisher) blocks(ctx context.Context) (behind bool, err error) {
	for range publishRounds {
		prefixes := p.outbox.TakeNext(time.Now(), publishBatch)
		if len(prefixes) == 0 {
			break
		}
		var some []fleet.Change
		for _, prefix := range prefixes {
			if b, t, ok := p.node.Block(prefix); ok {
				some = append(some, fleet.Change{Block: b, Trust: t})
			}
		}
		sent, err := p.publish(ctx, some)
		if err != nil {
			return true, err
		}
		p.outbox.Return(len(prefixes) - sent)
	}
	return p.outbox.Len() > 0, nil
}

// publish sends records to the fleet, which accepts those that are greater than
// its own, and returns how many were sent: not those that the fleet is known to
// have.
func (p *publisher) publish(ctx context.Context, changes []fleet.Change) (n int, err error) {
	for len(changes) > 0 {
		some := changes[:min(publishBatch, len(changes))]
		changes = changes[len(some):]
		p.reword(ctx, some)
		args := []any{p.clock.redisTime().UnixMilli()}
		var sent []fleet.Change
		for _, c := range some {
			record, mac, due := p.due(c)
			switch {
			case !due:
			case c.ByRule() && p.crowded.Covers(c.Block.Prefix, time.Now()):
				p.keptHere(c)
			default:
				args = append(args, c.Block.Prefix.String(), record, mac)
				sent = append(sent, c)
			}
		}
		if len(sent) == 0 {
			continue
		}
		answers, err := p.call(ctx, args)
		if err != nil {
			return n, err
		}
		n += len(sent)
		p.apply(sent, answers)
	}
	return n, nil
}

// The library's answers about a published record; one that only gets another MAC
// is answered 3.
const (
	publishTaken  = 1
	publishNoRoom = 2
)

func (p *publisher) apply(sent []fleet.Change, answers []int64) {
	for i, c := range sent[:min(len(sent), len(answers))] {
		switch answers[i] {
		case publishTaken:
			p.stats.published.Add(1)
		case publishNoRoom:
			if c.ByRule() {
				p.crowded.Add(c.Block.Prefix, time.Now())
			}
			if p.node.Now().Before(c.Block.Until) { // an ended block needs no room
				p.keptHere(c)
			}
		}
	}
}

func (p *publisher) call(ctx context.Context, args []any) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	taken, err := p.client.FCall(ctx, function("publish"), p.names.publishKeys(), args...).Int64Slice()
	if err != nil {
		p.stats.failed("publish")
		return nil, fmt.Errorf("publish %d blocks: %w", len(args)/3, err)
	}
	return taken, nil
}

// encode returns a change as it is published, with its MAC, and reports whether
// the other nodes would accept it.
func (p *publisher) encode(c fleet.Change) (record, mac string, ok bool) {
	r := aggregator.Record{Block: c.Block, Forced: c.Trust.Forced, Retention: p.config.Retention}
	r.Block.Since, r.Block.Until = p.node.Epoch(c.Block.Since), p.node.Epoch(c.Block.Until)
	record, err := r.Encode()
	if err == nil && len(record) > aggregator.MaxRecord {
		err = fmt.Errorf("block of %s takes %d bytes: not over %d: shorten its rule or reason", c.Block.Prefix, len(record), aggregator.MaxRecord)
	}
	if err != nil {
		p.stats.failed("publish")
		p.stats.noteError(err)
		return "", "", false
	}
	mac, ok = p.keys.judge.Load().RecordMAC(c.Block.Prefix.String(), record, c.Trust)
	return record, mac, ok
}
