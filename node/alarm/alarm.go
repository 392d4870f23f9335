// Package alarm keeps the alarms of a node: which are active, and when each is
// reported again.
package alarm

import (
	"sync"
	"time"

	"edgeguard"
)

const (
	// Every is how often an alarm is repeated while it lasts.
	Every = time.Minute
	// maxAlarms bounds the alarms remembered: there are a few kinds, times the
	// logs and listeners of a config.
	maxAlarms = 256
)

// Tracker passes on each alarm once and then once a minute, and knows which are
// active. It is safe for concurrent use.
type Tracker struct {
	mu        sync.Mutex // guards raised
	raised    map[subject]*active
	notify    func(edgeguard.Alarm) // called without mu
	recovered func(kind, about string)
}

// subject is what an alarm is about: a kind, and a log or listener by name.
type subject struct{ kind, about string }

// active is an alarm that was raised.
type active struct {
	edgeguard.Alarm
	reported time.Time
	// lasts says that it is active until it is cleared; else it was an event.
	lasts bool
}

// New returns a tracker without alarms. It calls notify with an alarm that is
// due, and recovered with a state that recovered.
func New(notify func(edgeguard.Alarm), recovered func(kind, about string)) *Tracker {
	return &Tracker{raised: make(map[subject]*active), notify: notify, recovered: recovered}
}

// Happened raises an alarm about an event.
func (t *Tracker) Happened(now time.Time, kind, about, text string) {
	t.raise(now, subject{kind, about}, text, false)
}

// Begins raises an alarm about a state that lasts until Ends is called.
func (t *Tracker) Begins(now time.Time, kind, about, text string) {
	t.raise(now, subject{kind, about}, text, true)
}

func (t *Tracker) raise(now time.Time, key subject, text string, lasts bool) {
	t.mu.Lock()
	s := t.raised[key]
	if s == nil {
		t.makeRoom()
		s = &active{}
		t.raised[key] = s
	}
	s.Alarm = edgeguard.Alarm{Time: now, Kind: key.kind, Text: text}
	s.lasts = lasts
	due := s.reported.IsZero() || now.Sub(s.reported) >= Every
	if due {
		s.reported = now
	}
	t.mu.Unlock()
	if due {
		t.notify(edgeguard.Alarm{Time: now, Kind: key.kind, Text: text})
	}
}

// makeRoom removes the alarm that was reported the longest ago.
func (t *Tracker) makeRoom() {
	if len(t.raised) < maxAlarms {
		return
	}
	var oldest subject
	var reported time.Time
	for key, s := range t.raised {
		if reported.IsZero() || s.reported.Before(reported) {
			oldest, reported = key, s.reported
		}
	}
	delete(t.raised, oldest)
}

// Ends clears a state, and reports whether it was active.
func (t *Tracker) Ends(kind, about string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := subject{kind, about}
	s := t.raised[key]
	if s == nil || !s.lasts {
		return false
	}
	delete(t.raised, key)
	return true
}

// Recovers clears a state, and calls recovered if it was active.
func (t *Tracker) Recovers(kind, about string) {
	if t.Ends(kind, about) {
		t.recovered(kind, about)
	}
}

// Lasting returns the alarms that are active.
func (t *Tracker) Lasting() []edgeguard.Alarm {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []edgeguard.Alarm
	for _, s := range t.raised {
		if s.lasts {
			out = append(out, s.Alarm)
		}
	}
	return out
}
