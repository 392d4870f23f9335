package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/blocklist"
	"edgeguard/internal/sleep"
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

// listReader brings the fleet's list to the node: by the stream, and in full when it
// joins, when there was a gap, or when asked. One goroutine at a time reads: who
// joins, then the receive loop. The publish loop merges, too, what it finds
// replaced in Redis.
type listReader struct {
	*wire
	keys       *keyring
	clock      *fleetClock
	beats      *heartbeats
	pushes     *pushLoop
	clears     *clearing
	publisher  *publisher
	rejections *rejections
	mirror     *fleet.Mirror // the fleet's list as it was read
	resync     chan struct{} // read the whole list again
	signAll    atomic.Bool   // the next full read has MACs of another key replaced
	noRoom     atomic.Bool   // an operator's block of the fleet found no room here
	scanFailed bool          // the last step of a full read; of who reads
}

// readChanges reads the changes of the fleet's list, and what the fleet
// watches.
func (r *listReader) readChanges(ctx context.Context, at position) error {
	synced, slow := time.Now(), patience{wire: r.wire}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.resync:
			r.keys.reload()
			// Invalid entries in the stream must not make every node read the
			// whole list again and again.
			sleep.For(ctx, resyncEvery-time.Since(synced))
			s, err := r.beats.sendHeartbeat(ctx, false)
			if err == nil {
				err = r.mergeWholeList(ctx, s)
			}
			if err != nil {
				return err
			}
			at.changes, synced = startPosition(s, 0).changes, time.Now()
		default:
		}
		news, err := r.read(ctx, at)
		if slow.bears(err) {
			r.stats.noteError(err)
			continue
		}
		if err != nil {
			return err
		}
		for _, stream := range news {
			if stream.Stream == r.names.watch {
				if at.watch, err = r.watches(ctx, stream.Messages); err != nil {
					return err
				}
				continue
			}
			at.changes = r.apply(stream.Messages)
		}
	}
}

// read waits for new entries of the two streams.
func (r *listReader) read(ctx context.Context, at position) ([]goredis.XStream, error) {
	ctx, cancel := context.WithTimeout(ctx, readWait+r.config.Timeout)
	defer cancel()
	news, err := r.client.XRead(ctx, &goredis.XReadArgs{
		Streams: []string{r.names.stream, r.names.watch, at.changes, at.watch},
		Count:   readBatch, Block: readWait,
	}).Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		r.stats.failed("stream")
		return nil, fmt.Errorf("stream of changes: %w", err)
	}
	r.stats.answer.noteAnswer()
	return news, nil
}

// watches passes watched keys to the push loop. It ignores entries that
// do not parse or are not of this node's meters. It deletes a watch list that
// accepts no more entries, and returns where reading continues.
func (r *listReader) watches(ctx context.Context, messages []goredis.XMessage) (last string, err error) {
	for _, m := range messages {
		last = m.ID
		text, _ := m.Values["k"].(string)
		if k, err := aggregator.ParseKey([]byte(text)); err == nil && r.node.Width(k.Meter) != 0 {
			r.pushes.pushNow(k)
		}
	}
	if last != lastID {
		return last, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	if err := r.client.Del(ctx, r.names.watch).Err(); err != nil {
		return "", fmt.Errorf("watch list: %w", err)
	}
	return idAt(r.clock.redisTime().Add(-time.Second)), nil
}

// apply applies changes of the list. After a gap, a full sync does the
// rest.
func (r *listReader) apply(messages []goredis.XMessage) (last string) {
	for _, m := range messages {
		last = m.ID
		prefix, _ := m.Values["p"].(string)
		record, _ := m.Values["r"].(string)
		mac, _ := m.Values["m"].(string)
		text, _ := m.Values["v"].(string)
		gone := m.Values["d"] != nil // evicted for another record, and not unblocked
		version, err := strconv.ParseInt(text, 10, 64)
		j := r.keys.check(prefix, record, mac)
		if err != nil || !r.mirror.Follow(prefix, record, j.ledgerMark(), gone, version) {
			signal(r.resync)
			continue
		}
		if !gone {
			r.merge(prefix, j, true)
		}
		r.mirror.Merged()
	}
	return last
}

// merge merges one record of the fleet into the node's list; fresh says that it
// has just been made. Records that are invalid, or that the list refuses, are
// dropped.
func (r *listReader) merge(prefix string, j judged, fresh bool) {
	now := r.node.Epoch(r.node.Now())
	if j.err != nil {
		r.rejections.reject(prefix, j.err)
		return
	}
	b, t := j.record.Block, j.trust
	if !fresh && r.node.Crowded(b, t) {
		return
	}
	if fresh && b.Origin != r.config.Node {
		r.stats.travelled(now.Sub(b.Since))
	}
	b.Since, b.Until = r.node.Local(b.Since), r.node.Local(b.Until)
	changed, err := r.node.Merge(b, t)
	switch {
	case errors.Is(err, blocklist.ErrExpired), errors.Is(err, aggregator.ErrHeld):
	case errors.Is(err, blocklist.ErrFull):
		r.noRoom.Store(true)
		r.node.Alarm("no_room", "list", "an operator's block or allowance of the fleet does not fit into this node's list, and is in force on other nodes only: "+
			shorten(err.Error())+": raise memory or max_blocks here, or remove blocks that are not needed")
	case err != nil:
		r.rejections.reject(prefix, err)
		return
	case changed:
		r.stats.received.Add(1)
		if b.Forgets() {
			r.clears.clear(b)
			r.node.Cleared(b)
		}
	}
	r.rejections.accepted(prefix)
}

// rejections has one alarm for each prefix whose record was rejected, as long as that
// is in the fleet's list. It is safe for concurrent use.
type rejections struct {
	*wire
	standing fleet.Rejected
}

// reject counts an invalid record, and raises one alarm for each prefix. Those of a
// later version and those that are not signed have an alarm of their own.
func (r *rejections) reject(prefix string, err error) {
	newer := errors.Is(err, aggregator.ErrNewer)
	if !newer {
		r.stats.rejected.Add(1)
	}
	if newer || errors.Is(err, fleet.ErrUnsigned) {
		r.accepted(prefix)
	} else if r.standing.First(prefix) {
		r.node.Alarm("rejected", shorten(prefix), "a record of the fleet was rejected: "+shorten(err.Error()))
	}
}

// accepted ends the alarm about a rejected record of a prefix.
func (r *rejections) accepted(prefix string) {
	if r.standing.DropPrefix(prefix) {
		r.node.Calm("rejected", shorten(prefix))
	}
}

// endAlarms ends the alarms about records that are gone.
func (r *rejections) endAlarms(has func(prefix string) bool) {
	for _, prefix := range r.standing.PrefixesGone(has) {
		r.accepted(prefix)
	}
}

func (r *listReader) alarmUnsigned() {
	judge := r.keys.judge.Load()
	switch {
	case r.unsigned() == 0:
		r.node.Calm("unsigned", "list")
	case judge.Requires():
		r.node.Alarm("unsigned", "list", "the fleet's list has records without a signature, which are ignored here (fleet.key_mode: require): find the nodes without the key, or who else writes to Redis")
	default:
		r.node.Alarm("unsigned", "list", "the fleet's list has records without a signature, which are accepted here (fleet.key_mode: accept): find the nodes without the key, or who else writes to Redis")
	}
}

// unsigned returns how many records of the fleet's list have no valid MAC; 0 on
// a node without a key.
func (r *listReader) unsigned() int {
	if !r.keys.judge.Load().Signs() {
		return 0
	}
	return r.mirror.Unsigned()
}
