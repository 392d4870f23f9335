package accesslog

import (
	"errors"
	"time"

	"edgeguard"
	"edgeguard/logline"
)

// Live says how lines that come in now become decided events: it is the part
// that following a file ([FollowConfig]) and receiving lines ([ListenConfig])
// have in common. Now and Decide must be set.
type Live struct {
	// Format is that of the lines; nil means that the first lines decide, unless
	// theirs has a Caution. A delimited format is refused: its columns are named by
	// a file's first line.
	Format *logline.Format
	// Zone is that of times that name none; nil means the host's, or UTC where only that fits.
	Zone *time.Location
	// Emit names the kinds that are passed on; 0 means all. A line without one
	// of them makes no event. KindResponse alone is for a log beside forward
	// auth, which counts the requests already.
	Emit edgeguard.Kind
	// Now returns the node's time.
	Now func() time.Time
	// Local turns an event's own time, which its server took from the wall
	// clock, into the node's time; nil means that they are the same.
	Local func(time.Time) time.Time
	// Late is how old an event is that Stats counts as late; 0 means 5 minutes.
	// It is passed on all the same: only a rule knows its window.
	Late time.Duration
	// Decide receives each batch at the node's time now, one call at a time.
	// The events and their strings are valid during the call, and may be
	// changed. It holds up the reading: that is what bounds the memory.
	Decide func(now time.Time, events []edgeguard.Event)
	// Uncounted, if set, receives after Decide the batch's requests that are not
	// counted, or only by some of the rules.
	Uncounted edgeguard.Uncounter
	// Needs, if set, returns what rules ask of a line, so that it is said when no line has it.
	Needs func() edgeguard.Field
	// Trouble, if set, is called when something goes wrong (at "file", "format", "fields",
	// "socket" or "connections"), and with nil when it is well again; never
	// twice in a row the same. It must not call back.
	Trouble func(at string, err error)
}

const defaultLate = 5 * time.Minute

var errDelimited = errors.New("format csv: a live log cannot be delimited text, whose columns are named by a file's first line; " +
	"give an nginx log_format, an Apache LogFormat or json")

// check finds what is missing and fills in what has a default.
func (l *Live) check() error {
	if l.Now == nil || l.Decide == nil {
		return errors.New("live log: Now and Decide must be set")
	}
	if l.Format != nil && l.Format.HasHeader() {
		return errDelimited
	}
	if l.Late == 0 {
		l.Late = defaultLate
	}
	return nil
}
