package checks

import (
	"fmt"
	"time"

	"edgeguard/logline/scan"
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
	// offFor and leastOff are how long all lines must be off, and how many: what was missed while
	// the node was down is read in less.
	offFor   = 3 * time.Second
	leastOff = 5
)

// Progress is what is known of a log at one moment.
type Progress struct {
	Events uint64 // counted
	Lines  uint64 // read, without those that were passed over for a reason
	Behind int64  // bytes still to be read
	// Off is by how much the last times without a zone are off that were read in Zone.
	Off  scan.Off
	Zone *time.Location
	// Example is a line that was not counted, empty where none is kept.
	Example string
	// Unread are programs whose lines are not understood.
	Unread []scan.Unread
	Others uint64 // what the node's other sources counted
	// Empty says that the server has never written to it, as far as can be seen:
	// always so of a socket.
	Empty bool
}

// Silence finds out whether a log delivers nothing: the node itself decides only
// on what it gets. A log that never had a line may be that of a quiet site or a
// fresh node: it is silent only if another source counts during that time.
type Silence struct {
	begun, last time.Time // of the watch, and of the last look with a new event
	at          Progress  // as it was then
}

// Look returns what is wrong at now; empty where nothing is.
func (w *Silence) Look(now time.Time, s Progress) string {
	if w.begun.IsZero() {
		w.begun, w.last, w.at = now, now, s
	}
	off := s.Off.Lines >= leastOff && s.Behind == 0 && now.Sub(time.Unix(s.Off.Since, 0)) >= offFor
	if s.Events != w.at.Events {
		w.last, w.at = now, s
	}
	if off {
		return anotherZone(now, s.Off, s.Zone)
	}
	if len(s.Unread) > 0 {
		return s.Unread[0].String()
	}
	if w.last.Equal(now) {
		return ""
	}
	lines, others := s.Lines-min(s.Lines, w.at.Lines), s.Others-min(s.Others, w.at.Others)
	switch {
	case now.Sub(w.last) >= growsFor && lines >= leastGrowth:
		such := ""
		if s.Example != "" {
			such = fmt.Sprintf(", such as %q", s.Example)
		}
		return fmt.Sprintf("%d lines were read and none counted%s: check `format` and `emit`, and run `edgeguard doctor`", lines, such)
	case now.Sub(w.last) >= growsFor && lines == 0 && s.Behind > 0 && w.at.Behind > 0:
		return fmt.Sprintf("%d bytes are unread, and nothing is counted", s.Behind)
	case s.Events == 0 && s.Empty && now.Sub(w.begun) >= silentFor && others >= leastOthers:
		return fmt.Sprintf("it has delivered nothing since the start %v ago, while other sources counted %d: check that the server writes to it and has permission to; the first line of a quiet site ends this alarm",
			now.Sub(w.begun).Round(time.Minute), others)
	}
	return ""
}
