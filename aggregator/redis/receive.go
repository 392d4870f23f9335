package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/blocklist"
)

const (
	// readWait is how long Redis delays the answer while nothing changes. It
	// bounds how long a hanging Redis goes unnoticed, and a resync waits.
	readWait = 400 * time.Millisecond
	// resyncEvery is the least time between two full syncs.
	resyncEvery = time.Second
	// readBatch bounds one answer: 1 MB of records.
	readBatch = 1000
	// lastID is the greatest ID of a stream, after which it accepts no entry.
	lastID = "18446744073709551615-18446744073709551615"
)

// position is how far the two streams were read.
type position struct{ changes, watch string }

// startPosition returns where reading continues after a full sync. The watch
// list has no snapshot, but a key is watched for one window: the entries of the
// last window are all that matter.
func startPosition(s fleet.State, window time.Duration) position {
	at := position{changes: s.Tip, watch: idAt(s.Now.Add(-window))}
	// If the state was lost, there is no tip, but the stream still has what came
	// before the read. Redis would refuse to read after a tip that is not an ID,
	// for as long as it is there.
	if !isID(s.Tip) {
		at.changes = idAt(s.Now.Add(-time.Millisecond))
	}
	return at
}

// idAt returns the ID of a stream's first entry in a millisecond.
func idAt(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) + "-0" }

// isID reports whether Redis reads a text as the ID of a stream's entry.
func isID(text string) bool {
	ms, seq, _ := strings.Cut(text, "-")
	_, err := strconv.ParseUint(ms, 10, 64)
	_, seqErr := strconv.ParseUint(seq, 10, 64)
	return err == nil && seqErr == nil
}

// receiveLoop reads the changes of the fleet's list, and what the fleet
// watches.
func (l *Link) receiveLoop(ctx context.Context, at position) error {
	synced := time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.resync:
			l.reloadKey()
			// Invalid entries in the stream must not make every node read the
			// whole list again and again.
			sleep(ctx, resyncEvery-time.Since(synced))
			s, err := l.heartbeat(ctx, false)
			if err == nil {
				err = l.fullSync(ctx, s)
			}
			if err != nil {
				return err
			}
			at.changes, synced = startPosition(s, 0).changes, time.Now()
		default:
		}
		news, err := l.read(ctx, at)
		if err != nil {
			return err
		}
		for _, stream := range news {
			if stream.Stream == l.pusher.names.watch {
				if at.watch, err = l.receiveWatches(ctx, stream.Messages); err != nil {
					return err
				}
				continue
			}
			at.changes = l.applyChanges(stream.Messages)
		}
	}
}

// read waits for new entries of the two streams.
func (l *Link) read(ctx context.Context, at position) ([]goredis.XStream, error) {
	ctx, cancel := context.WithTimeout(ctx, readWait+l.config.Timeout)
	defer cancel()
	news, err := l.client.XRead(ctx, &goredis.XReadArgs{
		Streams: []string{l.pusher.names.stream, l.pusher.names.watch, at.changes, at.watch},
		Count:   readBatch, Block: readWait,
	}).Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		l.stats.failed("stream")
		return nil, fmt.Errorf("stream of changes: %w", err)
	}
	return news, nil
}

// receiveWatches passes watched keys to the push loop. It ignores entries that
// do not parse or are not of this node's meters. It deletes a watch list that
// accepts no more entries, and returns where reading continues.
func (l *Link) receiveWatches(ctx context.Context, messages []goredis.XMessage) (last string, err error) {
	for _, m := range messages {
		last = m.ID
		text, _ := m.Values["k"].(string)
		if k, err := aggregator.ParseKey([]byte(text)); err == nil && l.node.Width(k.Meter) != 0 {
			l.PushNow(k)
		}
	}
	if last != lastID {
		return last, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	if err := l.client.Del(ctx, l.pusher.names.watch).Err(); err != nil {
		return "", fmt.Errorf("watch list: %w", err)
	}
	return idAt(l.fleetNow().Add(-time.Second)), nil
}

// applyChanges applies changes of the list. After a gap, a full sync does the
// rest.
func (l *Link) applyChanges(messages []goredis.XMessage) (last string) {
	for _, m := range messages {
		last = m.ID
		prefix, _ := m.Values["p"].(string)
		record, _ := m.Values["r"].(string)
		mac, _ := m.Values["m"].(string)
		text, _ := m.Values["v"].(string)
		gone := m.Values["d"] != nil // evicted for another record, and not unblocked
		version, err := strconv.ParseInt(text, 10, 64)
		j := l.check(prefix, record, mac)
		if err != nil || !l.mirror.Follow(prefix, record, j.mark(), gone, version) {
			signal(l.resync)
			continue
		}
		if !gone {
			l.merge(prefix, j, true)
		}
		l.mirror.Merged()
	}
	return last
}

// merge merges one record of the fleet into the node's list; fresh says that it
// has just been made. Records that are invalid, or that the list refuses, are
// dropped.
func (l *Link) merge(prefix string, j judged, fresh bool) {
	now := l.node.Epoch(l.node.Now())
	if j.err != nil {
		l.reject(prefix, j.err)
		return
	}
	b, t := j.record.Block, j.trust
	if !fresh && l.node.Crowded(b, t) {
		return
	}
	if fresh && b.Origin != l.config.Node {
		l.stats.travelled(now.Sub(b.Since))
	}
	b.Since, b.Until = l.node.Local(b.Since), l.node.Local(b.Until)
	changed, err := l.node.Merge(b, t)
	switch {
	case errors.Is(err, blocklist.ErrExpired), errors.Is(err, aggregator.ErrHeld):
	case errors.Is(err, blocklist.ErrFull):
		l.noRoom.Store(true)
		l.node.Alarm("no_room", "list", "an operator's block or allowance of the fleet does not fit into this node's list, and is in force on other nodes only: "+
			shorten(err.Error())+": raise memory or max_blocks here, or remove blocks that are not needed")
	case err != nil:
		l.reject(prefix, err)
		return
	case changed:
		l.stats.received.Add(1)
		if b.Forgets() {
			l.clear(b)
			l.node.Cleared(b.Prefix, b.Since)
		}
	}
	l.accepted(prefix)
}

// reject counts an invalid record, and raises one alarm for each prefix. Those of a
// later version and those that are not signed have an alarm of their own.
func (l *Link) reject(prefix string, err error) {
	newer := errors.Is(err, aggregator.ErrNewer)
	if !newer {
		l.stats.rejected.Add(1)
	}
	if newer || errors.Is(err, fleet.ErrUnsigned) {
		l.accepted(prefix)
	} else if l.rejected.First(prefix) {
		l.node.Alarm("rejected", shorten(prefix), "a record of the fleet was rejected: "+shorten(err.Error()))
	}
}

// accepted ends the alarm about a rejected record of a prefix.
func (l *Link) accepted(prefix string) {
	if l.rejected.Over(prefix) {
		l.node.Calm("rejected", shorten(prefix))
	}
}

// calmRejected ends the alarms about records that are gone.
func (l *Link) calmRejected(has func(prefix string) bool) {
	for _, prefix := range l.rejected.Gone(has) {
		l.accepted(prefix)
	}
}
