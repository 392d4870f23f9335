// Package alarm keeps which alarms of a node are active. Each is reported again while
// it lasts.
package alarm

import (
	"strings"
	"sync"
	"time"

	"edgeguard"
)

const (
	// Every is how often an alarm is repeated while it lasts.
	Every = time.Minute
	// settled is how long a changed text must last before it is reported, and
	// changes the least time between two reports of one alarm: while a cause
	// is being found, two texts may alternate many times a second.
	settled, changes = 5 * time.Second, 10 * time.Second
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
	// Over is called with an alarm that was told and has ended; nil for nobody.
	Over func(edgeguard.Alarm)
}

// subject is what an alarm is about: a kind, and a log or listener by name.
type subject struct{ kind, about string }

// active is an alarm that was raised. One that recovered is kept for a minute
// after it was reported: what comes and goes many times is reported once.
type active struct {
	edgeguard.Alarm
	reported time.Time
	said     string    // the text that was reported, without its figures
	since    time.Time // when the text changed, but for its figures
	// lasts says that it is active until it is cleared; else it was an event,
	// or has recovered.
	lasts bool
	// told says that it was reported since it began.
	told bool
	// began is when it did; event says that it was about something that happened.
	began time.Time
	event bool
	shown string // the text that was reported
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

// explained reports whether a text is about a file in the state folder, of which an active alarm
// says that it is unusable: one cause is told once, and not for each of its files. It needs mu.
func (t *Tracker) explained(of subject, text string) bool {
	for key, s := range t.raised {
		if key != of && key.kind == State && s.lasts && strings.HasPrefix(key.about, "/") &&
			(strings.Contains(text, key.about+"/") || strings.Contains(text, key.about+":")) {
			return true
		}
	}
	return false
}

// Begins raises an alarm about a state that lasts until Ends is called.
func (t *Tracker) Begins(now time.Time, kind, about, text string) {
	t.raise(now, subject{kind, about}, text, true)
}

func (t *Tracker) raise(now time.Time, key subject, text string, lasts bool) {
	t.mu.Lock()
	s := t.raised[key]
	if s == nil && t.explained(key, text) {
		t.mu.Unlock()
		return
	}
	if s == nil {
		t.makeRoom()
		s = &active{}
		t.raised[key] = s
	}
	if words(text) != words(s.Text) {
		s.since = now
	}
	if !s.lasts && (lasts || !s.event) {
		s.told, s.began = false, now
	}
	s.Alarm = edgeguard.Alarm{Time: now, Kind: key.kind, Text: text, About: key.about, Lasts: lasts}
	s.lasts, s.event = lasts, !lasts
	due := s.reported.IsZero() || now.Sub(s.reported) >= Every
	told := s.Alarm
	told.Again, told.Same = s.told, s.told && s.said == words(text)
	if due {
		s.report(now)
	}
	t.mu.Unlock()
	if due {
		t.notify(told)
	}
}

func (s *active) report(now time.Time) {
	s.reported, s.said, s.shown, s.told = now, words(s.Text), s.Text, true
}

// words returns a text without its digits: a figure that has changed makes no
// other cause.
func words(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// Again reports the active alarms whose text has changed and stayed so, and
// those that began again within the minute of their last report and still last
// after it. It is called about once a second.
func (t *Tracker) Again(now time.Time) {
	var due []edgeguard.Alarm
	t.mu.Lock()
	for key, s := range t.raised {
		since, again := now.Sub(s.reported), s.told
		switch {
		case !s.lasts && since >= Every:
			delete(t.raised, key)
		case s.lasts && !s.told && since >= Every,
			s.lasts && s.said != words(s.Text) && now.Sub(s.since) >= settled && since >= changes:
			s.report(now)
			a := s.Alarm
			a.Time, a.Again = now, again
			due = append(due, a)
		}
	}
	t.mu.Unlock()
	for _, a := range due {
		t.notify(a)
	}
}

// makeRoom removes the alarm that was reported the longest ago; one that is
// active only where all are.
func (t *Tracker) makeRoom() {
	if len(t.raised) < maxAlarms {
		return
	}
	var oldest subject
	var least *active
	for key, s := range t.raised {
		if least == nil || (least.lasts && !s.lasts) || (least.lasts == s.lasts && s.reported.Before(least.reported)) {
			oldest, least = key, s
		}
	}
	delete(t.raised, oldest)
}

// Ends clears a state and forgets it, and reports whether it was active: if it
// begins again, that is reported immediately.
func (t *Tracker) Ends(kind, about string) bool {
	t.mu.Lock()
	key := subject{kind, about}
	s := t.raised[key]
	if s == nil || !s.lasts {
		t.mu.Unlock()
		return false
	}
	delete(t.raised, key)
	t.mu.Unlock()
	t.over(s)
	return true
}

// over tells of the end of an alarm that was told.
func (t *Tracker) over(s *active) {
	if t.Over != nil && s.told {
		a := s.Alarm
		a.Over = true
		t.Over(a)
	}
}

// Recovers clears a state that may come back by itself, and calls recovered if
// it was active and reported. If it begins again within a minute of its last
// report, it is active and not reported before that minute is over.
func (t *Tracker) Recovers(kind, about string) {
	t.mu.Lock()
	s := t.raised[subject{kind, about}]
	var ended active
	if s != nil {
		if s.lasts {
			ended = *s
		}
		s.lasts, s.told = false, false
	}
	t.mu.Unlock()
	if ended.told {
		t.over(&ended)
		t.recovered(kind, about)
	}
}

// Condition is an alarm that is active, or about something that happened.
type Condition struct {
	Kind, About string
	Text        string
	// Since is when it began, and Last when it was raised last.
	Since, Last time.Time
	Event       bool // it was about something that happened, and has no end
}

// Lasting returns the alarms that are active, with their newest texts.
func (t *Tracker) Lasting() []Condition {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Condition
	for key, s := range t.raised {
		if s.lasts {
			out = append(out, Condition{Kind: key.kind, About: key.about, Text: s.Text, Since: s.began, Last: s.Time})
		}
	}
	return out
}

// Reported returns the alarms that are active and were reported since they began, and the
// events of the last minute, with the texts that were reported last. What comes and goes within a minute is in it once.
func (t *Tracker) Reported() []Condition {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Condition
	for key, s := range t.raised {
		if s.told && (s.lasts || s.event) {
			out = append(out, Condition{Kind: key.kind, About: key.about, Text: s.shown, Since: s.began, Last: s.Time, Event: s.event})
		}
	}
	return out
}
