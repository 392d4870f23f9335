package detector

import "time"

// moment is when an event happened and when it is decided, in whole seconds
// since the epoch, the event's never after now: slot numbers are made of them.
type moment struct{ nowSec, eventSec uint32 }

// newMoment reports besides whether the event was from after now.
func newMoment(now, event time.Time) (m moment, early bool) {
	m = moment{seconds(now), seconds(event)}
	if m.eventSec > m.nowSec {
		m.eventSec, early = m.nowSec, true
	}
	return m, early
}

// seconds returns the whole seconds since the epoch: 0 before 1970, and the
// greatest uint32 after February 2106.
func seconds(t time.Time) uint32 {
	s := t.Unix()
	return uint32(max(0, min(s, 1<<32-1)))
}
