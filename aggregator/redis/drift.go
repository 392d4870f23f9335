package redis

import (
	"context"
	"strconv"
	"sync/atomic"
)

// drift finds out whether the mirror still is the fleet's list, from what the
// beats say. Nothing is concluded from one that a change may just have
// overtaken. It is used by one goroutine at a time, but for cutoff.
type drift struct {
	cutoff        atomic.Int64 // of the newest beat, unix seconds
	born          string       // the namespace that was joined, or last seen
	fleetVersion  int64        // the version that stood at the beat before
	mirrorVersion int64        // the mirror's version at the beat before
	mismatches    int          // beats running whose digest did not fit
	lastVersion   int64        // the version at the beat before, whatever came of it
	syncsAtMatch  uint64       // the full reads done when a digest fitted, or the version moved, last
}

// compare asks for a full sync where the mirror and the fleet's list part:
// the namespace is another one (an emptied Redis), the list went back (a
// fail-over that lost changes), the mirror has not come to what stood a beat
// ago, or the digests differ twice running. Where two full reads at one version
// did not help, it is Redis' digest that is wrong.
func (l *Link) compareLists(ctx context.Context, s fleetState) {
	d := &l.drift
	d.cutoff.Store(s.cutoff)
	digest, version := l.mirror.digest(s.cutoff)
	differ := s.digest != "" && version == s.changes && digest != s.digest
	back := d.mirrorVersion > s.changes || d.born != s.born
	wrong := back || version < d.fleetVersion
	d.born = s.born
	if differ {
		d.mismatches++
	} else {
		d.mismatches = 0
	}
	if !differ || s.changes != d.lastVersion {
		d.syncsAtMatch = l.stats.syncs.Load()
	}
	d.lastVersion = s.changes
	if back {
		l.node.Counts().Lost() // what lost blocks may have lost counts, too
		signal(l.wake)
	}
	d.fleetVersion, d.mirrorVersion = s.changes, version
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

// repair puts the mirror's digest in the place of Redis', which is wrong for
// ever where its state was evicted or blocks were written past the library. If
// another node was first, or the list has changed, nothing happens. That it
// fails is no reason to leave the fleet: the next doubts bring it again.
func (l *Link) repair(ctx context.Context, s fleetState, digest string) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	err := l.client.FCall(ctx, functionName("repair"), []string{l.pusher.names.state},
		strconv.FormatInt(s.changes, 10), s.digest, digest).Err()
	if err != nil {
		l.stats.failed("repair")
		l.stats.note(err)
	}
}
