package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/blocklist"
)

const (
	// blocked is how long Redis holds the answer while there is no news. It
	// bounds how long a Redis that hangs goes unnoticed, and a resync waits.
	readWait = 400 * time.Millisecond
	// resyncEvery is the least time between two full reads.
	resyncEvery = time.Second
	// newsAtOnce bounds one answer: 1 MB of records.
	readBatch = 1000
)

// place is how far the two streams were read.
type position struct{ changes, watch string }

// startOf is where reading goes on after a full sync. The watch list has no
// snapshot: a key is watched for a window, so that the entries of the last one
// tell of all that are.
func startPosition(s fleetState, window time.Duration) position {
	at := position{changes: s.tip, watch: strconv.FormatInt(s.now.Add(-window).UnixMilli(), 10) + "-0"}
	// A state that was lost has no tip, but the stream is there: what came
	// before the read is in it.
	orElse(&at.changes, strconv.FormatInt(s.now.Add(-time.Millisecond).UnixMilli(), 10)+"-0")
	return at
}

// follow is the fan-out's loop: it reads what changes in the fleet's list, and
// what the fleet watches.
func (l *Link) receiveLoop(ctx context.Context, at position) error {
	synced := time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.resync:
			// Rubbish in the stream must not make every node read the whole
			// list without end.
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
				at.watch = l.receiveWatches(stream.Messages)
				continue
			}
			at.changes = l.applyChanges(stream.Messages)
		}
	}
}

// read waits for news.
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

// watch hands on watched keys; what does not parse is not ours.
func (l *Link) receiveWatches(messages []goredis.XMessage) (last string) {
	for _, m := range messages {
		last = m.ID
		text, _ := m.Values["k"].(string)
		if k, err := aggregator.ParseKey([]byte(text)); err == nil && l.node.Width(k.Meter) != 0 {
			l.PushNow(k)
		}
	}
	return last
}

// learn takes in changes of the list. After a gap the rest is left to a full
// sync.
func (l *Link) applyChanges(messages []goredis.XMessage) (last string) {
	for _, m := range messages {
		last = m.ID
		prefix, _ := m.Values["p"].(string)
		record, _ := m.Values["r"].(string)
		text, _ := m.Values["v"].(string)
		gone := m.Values["d"] != nil // made room for another: nothing was lifted
		version, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !l.mirror.follow(prefix, record, gone, version) {
			signal(l.resync)
			continue
		}
		if !gone {
			l.merge(prefix, record, true)
		}
	}
	return last
}

// take merges one record of the fleet into the node's list; fresh says that it
// has just been made. What is poison, or refused by the list, is dropped.
func (l *Link) merge(prefix, record string, fresh bool) {
	now := l.node.Epoch(l.node.Now())
	r, err := aggregator.CheckRecord(prefix, record, now)
	if err != nil {
		l.reject(prefix, err)
		return
	}
	b := r.Block
	if !fresh && l.node.Crowded(b, r.Forced) {
		return
	}
	if fresh && b.Origin != l.config.Node {
		l.stats.travelled(now.Sub(b.Since))
	}
	b.Since, b.Until = l.node.Local(b.Since), l.node.Local(b.Until)
	changed, err := l.node.Merge(b, r.Forced)
	switch {
	case errors.Is(err, blocklist.ErrExpired), errors.Is(err, aggregator.ErrHeld):
	case errors.Is(err, blocklist.ErrFull):
		l.noRoom.Store(true)
		l.node.Alarm("no_room", "list", "an operator's block or allowance of the fleet finds no room in this node's list, and holds on others only: "+
			shorten(err.Error())+": raise memory or max_blocks here, or take back what is not needed")
	case err != nil:
		l.reject(prefix, err)
	case changed:
		l.stats.received.Add(1)
		if forgets(&b) {
			l.clear(b)
			l.node.Cleared(b.Prefix, b.Since)
		}
	}
}

// refuse counts poison, and alarms once for each prefix.
func (l *Link) reject(prefix string, err error) {
	l.stats.rejected.Add(1)
	if l.alarmed.first(prefix) {
		l.node.Alarm("rejected", shorten(prefix), "a block of the fleet is refused here: "+shorten(err.Error()))
	}
}

// reported are the prefixes whose poison was alarmed, so that each is once.
type alarmedPrefixes struct {
	mu   sync.Mutex
	seen map[string]bool
}

// first reports whether prefix is new; past a bound nothing is.
func (r *alarmedPrefixes) first(prefix string) bool {
	const most = 1024
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[prefix] || len(r.seen) >= most {
		return false
	}
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	r.seen[prefix] = true
	return true
}
