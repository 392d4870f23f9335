package redis

import (
	"context"
	"strconv"
	"sync/atomic"

	"edgeguard/aggregator/redis/library"
	"edgeguard/aggregator/roster"
)

// mostBlind is how many heartbeats in a row may lack a digest before the whole
// list is read: about a minute. Redis has none while ended records wait to be
// removed, and whoever writes to it may have millions of them wait.
const mostBlind = 30

// drift finds out from heartbeats whether the mirror still equals the fleet's
// list. A single mismatch may be a change in flight and proves nothing. Except
// cutoff, it is used by one goroutine at a time.
type drift struct {
	cutoff        atomic.Int64 // of the newest heartbeat, unix seconds
	born          string       // the namespace that was joined, or last seen
	fleetVersion  int64        // the fleet's list at the last heartbeat
	mirrorVersion int64        // the mirror at the last heartbeat
	mismatches    int          // heartbeats in a row whose digest differed
	blind         int          // heartbeats in a row without a digest
	lastVersion   int64        // as fleetVersion, and not reset
	syncsAtMatch  uint64       // full syncs when the digest last matched or the version last changed
}

// compareLists asks for a full sync where the mirror and the fleet's list
// differ: the namespace is another one (an emptied Redis), the list went back
// (a fail-over that lost changes), the mirror has not reached the list of the
// last heartbeat, or the digests differ twice in a row. If two full syncs at
// one version did not help, Redis' digest is wrong.
func (l *Link) compareLists(ctx context.Context, s roster.State) {
	d := &l.drift
	d.cutoff.Store(s.Cutoff)
	digest, version := l.mirror.Digest(s.Cutoff)
	differ := s.Digest != "" && version == s.Changes && digest != s.Digest
	back := d.mirrorVersion > s.Changes || d.born != s.Born
	wrong := back || version < d.fleetVersion
	d.born = s.Born
	if differ {
		d.mismatches++
	} else {
		d.mismatches = 0
	}
	if d.blind++; s.Digest != "" {
		d.blind = 0
	}
	if !differ || s.Changes != d.lastVersion {
		d.syncsAtMatch = l.stats.syncs.Load()
	}
	d.lastVersion = s.Changes
	if back {
		l.lost() // a Redis that lost blocks may have lost counts, too
	}
	d.fleetVersion, d.mirrorVersion = s.Changes, version
	if d.blind >= mostBlind {
		d.blind, wrong = 0, true
	}
	if wrong || d.mismatches >= 2 {
		d.mismatches, d.fleetVersion, d.mirrorVersion = 0, 0, 0
		if !wrong && l.stats.syncs.Load() >= d.syncsAtMatch+2 {
			d.syncsAtMatch = l.stats.syncs.Load()
			l.repair(ctx, s, digest)
			return
		}
		signal(l.resync)
	}
}

// repair replaces Redis' digest by the mirror's. It stays wrong where its state
// was evicted or blocks were written without the library. If another node was
// first, or the list has changed, nothing happens. An error does not end the
// session: the next mismatches bring it again.
func (l *Link) repair(ctx context.Context, s roster.State, digest string) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	err := l.client.FCall(ctx, library.Function("repair"), []string{l.pusher.names.state},
		strconv.FormatInt(s.Changes, 10), s.Digest, digest).Err()
	if err != nil {
		l.stats.failed("repair")
		l.stats.note(err)
	}
}
