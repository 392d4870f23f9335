package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/clockguard"
)

// heartbeats says to the fleet that this node lives, and keeps who else does. Only
// the goroutine that joins, then the heartbeat loop, announces the node and
// changes what follows the shared ones; a call that only reads, of any goroutine,
// touches nothing but the roster.
type heartbeats struct {
	*wire
	keys   *keyring
	clock  *fleetClock
	mirror *fleet.Mirror
	nodes  *fleet.Roster
	seq    atomic.Uint64 // heartbeats that were sent
	cutoff atomic.Int64  // of the newest heartbeat, unix seconds

	started   time.Time
	boot      string    // this run's: the config's, until another process uses it
	stopped   time.Time // the config's, as long as the boot is
	reported  string    // what the last heartbeat that arrived reported of this node
	spoke     time.Time // when that was
	shared    time.Time // when another process last used this node's boot
	duplicate string    // the first name that two nodes share; "" if none
}

// sendHeartbeat calls the beat function, applies what it says of the nodes, and
// returns its answer. announce says that this node is alive; without it the call
// only reads.
func (b *heartbeats) sendHeartbeat(ctx context.Context, announce bool) (fleet.State, error) {
	ctx, cancel := context.WithTimeout(ctx, b.config.Timeout)
	defer cancel()
	field, value, since, reported := "", "", b.nodes.Version(), ""
	if announce {
		mine := b.own()
		judge := b.keys.judge.Load()
		field, value, since = mine.Field(), judge.EncodeBeat(mine), b.nodes.Since(time.Now())
		reported = fmt.Sprint(mine.Own, mine.Monitor, mine.Looks, mine.Spans, mine.Compares, mine.Rules, judge.KeyMode(), judge.KeyID())
	} else if since == 0 {
		since = -1 // the whole list is the heartbeat loop's
	}
	changed := "0"
	if announce && reported != b.reported {
		changed = "1"
	}
	sent := clockguard.Read().Mono
	s, err := b.callBeat(ctx, field, value, strconv.FormatInt(since, 10), changed)
	if err != nil {
		b.stats.failed("beat")
		return s, fmt.Errorf("heartbeat: %w", err)
	}
	if announce {
		b.clock.measured(clockguard.Sample{Sent: sent, Received: clockguard.Read().Mono, Server: s.Now})
		b.reported = reported
		if err := b.checkBoot(&s); err != nil {
			return s, err
		}
		b.update(&s)
	} else if since >= 0 {
		b.nodes.Apply(time.Now(), &s, b.keys.judge.Load().ParseHeartbeat)
	}
	return s, nil
}

// errBoot ends a session whose boot another process uses.
var errBoot = errors.New("another process uses this node's boot")

// checkBoot finds out whether another process counts under this node's boot, as
// after its machine or its state folder was copied: each would hide what the
// other counts. It then changes the boot, and ends the session.
func (b *heartbeats) checkBoot(s *fleet.State) error {
	other := s.Other
	if b.spoke.IsZero() { // the heartbeat before this may be that of the process before
		other = !b.stopped.IsZero() && s.Before > b.stopped.Unix()+1
	}
	b.spoke = time.Now()
	switch {
	case other:
		b.shared = b.spoke
		b.node.Alarm("duplicate_boot", "redis", fmt.Sprintf("another process sends heartbeats as node %q with the same boot: a copied machine or state folder: give each its own `node:` and `state:`", b.config.Node))
		if boot := randomHex(8); b.node.Rebooted(boot) {
			b.boot, b.stopped = boot, time.Time{}
			return errBoot
		}
	case time.Since(b.shared) > time.Minute:
		b.node.Calm("duplicate_boot", "redis")
	}
	return nil
}

// callBeat calls the beat function.
func (b *heartbeats) callBeat(ctx context.Context, field, value, since, changed string) (fleet.State, error) {
	answer, err := b.client.FCall(ctx, function("beat"), b.names.memberKeys(),
		field, value, b.config.Partitions, since, changed, b.config.Run).Slice()
	if err != nil {
		return fleet.State{}, err
	}
	b.stats.answer.noteAnswer()
	return fleet.ParseState(answer)
}

// farewell says that this node ends, so that the others need not wait until it
// has been silent for long.
func (b *heartbeats) farewell(ctx context.Context) error {
	mine := aggregator.Heartbeat{Node: b.config.Node, Boot: b.boot}
	_, err := b.callBeat(ctx, mine.Field(), "", "-1", "0")
	return err
}

// own returns this node's heartbeat.
func (b *heartbeats) own() aggregator.Heartbeat {
	digest, changes := b.mirror.Digest(b.cutoff.Load())
	now := b.clock.redisTime()
	h := aggregator.Heartbeat{
		Node: b.config.Node, Boot: b.boot, Version: b.config.Version, Monitor: b.config.Monitor,
		Started: now.Add(-time.Since(b.started)).Round(time.Millisecond).UTC(),
		At:      now.Round(time.Millisecond).UTC(), AheadMS: float64(b.clock.ahead().Microseconds()) / 1000,
		PushLagMS: b.stats.pushLag().Milliseconds(),
		Changes:   changes, Digest: digest, Cutoff: b.cutoff.Load(), Own: b.node.Own(), Rules: b.node.RulesDigest(),
		Run: b.config.Run, Seq: b.seq.Add(1), Looks: b.config.Figures.Looks(b.node.Now()), Spans: b.config.Figures.AskedSpans(b.node.Now()),
		Compares: b.config.Compared.Compares(),
	}
	if !b.mirror.Merging() { // else what waits may be of an earlier version of the list
		h.SetHeldRecords(b.node.Waits(aggregator.MostWaits))
	}
	return h
}

// update applies what Redis says of the fleet's nodes. Clocks and names
// are compared where all heartbeats are new: in a whole list.
func (b *heartbeats) update(s *fleet.State) {
	b.nodes.Apply(time.Now(), s, b.keys.judge.Load().ParseHeartbeat)
	alive := b.nodes.Alive()
	names := fleet.Names(alive, b.config.Node)
	b.stats.nodes.Store(int64(names))
	b.node.Counts().SetNodes(names, b.node.Now())
	b.node.Fleet(alive)
	if s.Whole {
		b.clock.judge(alive)
		b.alarmDuplicates(fleet.Duplicates(alive))
	} else if b.clock.ahead().Abs() > b.config.MaxSkew {
		b.nodes.ReadAllSoon()
	}
	b.clock.follow()
}

// alarmDuplicates raises an alarm for each name that two nodes share, and ends
// the last one when there is none.
func (b *heartbeats) alarmDuplicates(names []string) {
	for _, name := range names {
		b.node.Alarm("duplicate_name", name, fmt.Sprintf("two running nodes are named %q: their counts add up, but their blocks and figures cannot be told apart: give each its own `node:`", name))
	}
	switch last := b.duplicate; {
	case len(names) > 0:
		b.duplicate = names[0]
	case last != "":
		b.node.Calm("duplicate_name", last)
		b.duplicate = ""
	}
}
