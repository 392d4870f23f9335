package clockguard

import "time"

// Replay is the clock of a replay: the newest event time seen. The zero value
// is ready; not safe for concurrent use.
type Replay struct {
	now  time.Time
	seen bool
}

// Advance takes in an event's time. now is the newest so far, this event's
// included, and behind how far the event is behind it: 0 where the event
// itself is the newest.
func (r *Replay) Advance(t time.Time) (now time.Time, behind time.Duration) {
	if !r.seen || t.After(r.now) {
		r.now, r.seen = t, true
		return t, 0
	}
	return r.now, r.now.Sub(t)
}

// Now is the newest event time seen; zero before the first.
func (r *Replay) Now() time.Time { return r.now }
