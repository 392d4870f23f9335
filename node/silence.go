package node

import (
	"fmt"
	"os"
	"time"
)

const (
	// growsFor is how long lines may be read without one that counts.
	growsFor = time.Minute
	// leastGrowth is how many they must be: a few broken lines of a stranger are
	// not worth an alarm.
	leastGrowth = 10
	// silentFor is how long a source may deliver nothing from its start on, while
	// others count leastOthers events.
	silentFor   = 10 * time.Minute
	leastOthers = 1000
)

// sound is what is known of a log at one moment.
type sound struct {
	events uint64 // counted
	lines  uint64 // read
	behind int64  // bytes still to be read
	others uint64 // what the node's other sources counted
	// empty says that the server has never written to it, as far as can be seen:
	// always so of a socket.
	empty bool
}

// silence finds out whether a log delivers nothing: the node itself decides only
// on what it gets. A log that never had a line may be that of a quiet site or a
// fresh node: it is silent only if another source counts during that time.
type silence struct {
	begun, last time.Time // of the watch, and of the last look with a new event
	at          sound     // as it was then
}

// look returns what is wrong at now; empty where nothing is.
func (w *silence) look(now time.Time, s sound) string {
	if w.begun.IsZero() {
		w.begun, w.last, w.at = now, now, s
	}
	if s.events != w.at.events {
		w.last, w.at = now, s
		return ""
	}
	lines, others := s.lines-min(s.lines, w.at.lines), s.others-min(s.others, w.at.others)
	switch {
	case now.Sub(w.last) >= growsFor && lines >= leastGrowth:
		return fmt.Sprintf("%d lines were read and none counted: check `format` and `emit`, and run `edgeguard doctor`", lines)
	case now.Sub(w.last) >= growsFor && lines == 0 && s.behind > 0 && w.at.behind > 0:
		return fmt.Sprintf("%d bytes are unread, and nothing is counted", s.behind)
	case s.events == 0 && s.empty && now.Sub(w.begun) >= silentFor && others >= leastOthers:
		return fmt.Sprintf("it has delivered nothing since the start %v ago, while other sources counted %d: check that the server writes to it and has permission to; the first line of a quiet site ends this alarm",
			now.Sub(w.begun).Round(time.Minute), others)
	}
	return ""
}

// sound returns what is known of the log now.
func (s *logSource) sound() sound {
	if f := s.follower.Load(); f != nil {
		t := f.Stats()
		info, err := os.Stat(s.config.File)
		return sound{events: t.Events, lines: t.Lines, behind: t.Behind, empty: err != nil || info.Size() == 0}
	}
	if l := s.listener.Load(); l != nil {
		t := l.Stats()
		return sound{events: t.Events, lines: t.Lines, empty: true}
	}
	return sound{empty: true}
}
