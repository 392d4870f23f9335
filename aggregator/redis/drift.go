package redis

import "sync/atomic"

// drift finds out whether the mirror still is the fleet's list, from what the
// beats say. Nothing is concluded from one that a change may just have
// overtaken. It is used by one goroutine at a time, but for cutoff.
type drift struct {
	cutoff   atomic.Int64 // of the newest beat, unix seconds
	reached  int64        // the version that stood at the beat before
	before   int64        // the mirror's version at the beat before
	doubts   int          // beats running whose digest did not fit
	hadTwins bool
	twin     string
	clocks   map[string]string // the wrong clocks that were alarmed
}

// compare asks for a full sync where the mirror and the fleet's list part:
// the list went back (an emptied Redis, a fail-over that lost changes), the
// mirror has not come to what stood a beat ago, or the digests differ twice
// running.
func (l *Link) compare(s standing) {
	d := &l.drift
	d.cutoff.Store(s.cutoff)
	digest, version := l.mirror.digest(s.cutoff)
	differ := s.digest != "" && version == s.changes && digest != s.digest
	wrong := d.before > s.changes || version < d.reached
	if differ {
		d.doubts++
	} else {
		d.doubts = 0
	}
	if d.before > s.changes {
		l.node.Counts().Lost() // what lost blocks may have lost counts, too
		signal(l.wake)
	}
	d.reached, d.before = s.changes, version
	if wrong || d.doubts >= 2 {
		d.doubts, d.reached, d.before = 0, 0, 0
		signal(l.resync)
	}
}
