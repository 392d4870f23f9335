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
	cutoff   atomic.Int64 // of the newest beat, unix seconds
	born     string       // the namespace that was joined, or last seen
	reached  int64        // the version that stood at the beat before
	before   int64        // the mirror's version at the beat before
	doubts   int          // beats running whose digest did not fit
	stands   int64        // the version at the beat before, whatever came of it
	fitted   uint64       // the full reads done when a digest fitted, or the version moved, last
	hadTwins bool
	twin     string
	clocks   map[string]string // the wrong clocks that were alarmed
}

// compare asks for a full sync where the mirror and the fleet's list part:
// the namespace is another one (an emptied Redis), the list went back (a
// fail-over that lost changes), the mirror has not come to what stood a beat
// ago, or the digests differ twice running. Where two full reads at one version
// did not help, it is Redis' digest that is wrong.
func (l *Link) compare(ctx context.Context, s standing) {
	d := &l.drift
	d.cutoff.Store(s.cutoff)
	digest, version := l.mirror.digest(s.cutoff)
	differ := s.digest != "" && version == s.changes && digest != s.digest
	back := d.before > s.changes || d.born != s.born
	wrong := back || version < d.reached
	d.born = s.born
	if differ {
		d.doubts++
	} else {
		d.doubts = 0
	}
	if !differ || s.changes != d.stands {
		d.fitted = l.stats.syncs.Load()
	}
	d.stands = s.changes
	if back {
		l.node.Counts().Lost() // what lost blocks may have lost counts, too
		signal(l.wake)
	}
	d.reached, d.before = s.changes, version
	if wrong || d.doubts >= 2 {
		d.doubts, d.reached, d.before = 0, 0, 0
		if !wrong && l.stats.syncs.Load() >= d.fitted+2 {
			d.fitted = l.stats.syncs.Load()
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
func (l *Link) repair(ctx context.Context, s standing, digest string) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	err := l.client.FCall(ctx, functionName("repair"), []string{l.pusher.names.state},
		strconv.FormatInt(s.changes, 10), s.digest, digest).Err()
	if err != nil {
		l.stats.failed("repair")
		l.stats.note(err)
	}
}
