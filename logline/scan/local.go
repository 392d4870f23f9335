package scan

import (
	"bytes"
	"time"
)

// local is how the stamps of one file are read that name no zone.
//
// A program writes them in its host's time, and in a container mostly in UTC, whatever the host
// has. Of lines that are written now the one of both readings is right that is now. But lines are
// also read late, as after an hour in which the node was down, and look then as if they were of
// the other: so what holds changes only by a run of lines that goes on for a while (what was
// missed is read in a moment), and no reading is taken that lies ahead of now.
type local struct {
	now   int64 // when the lines are written, in unix seconds; 0 where that is not known
	prev  int64 // the last instant
	sure  bool  // the zone is what somebody said
	inUTC bool
	begun bool
	bare  bool // a stamp was read by what is here
	turn  run  // of stamps that are now by the other reading only
	off   Off
}

const (
	freshFor   = 60 // seconds
	staleAfter = 5 * 60

	enoughLines = 20
	enoughTime  = 30

	quarter = 15 * 60
	// Zones are at most so far from UTC.
	eastmost, westmost = 14 * 3600, 12 * 3600
)

// run is how many lines in a row say the same, and since when.
type run struct {
	lines int
	since int64
}

// goesOn adds a line, and reports whether that is enough.
func (r *run) goesOn(now int64) bool {
	if r.lines == 0 {
		r.since = now
	}
	r.lines++
	return r.lines > enoughLines && now-r.since >= enoughTime
}

// Off says by how much all of the last lines without a zone are off: a whole number of quarters
// of an hour, in seconds, behind now if it is less than 0. Lines is how many there are, 0 if the
// last ones are now or differ. They began at Since.
type Off struct {
	Seconds int64
	Lines   int
	Since   int64
}

// SetLatest implements [Dated].
func (c *Clock) SetLatest(at time.Time) { c.Latest = at }

// SetNow implements [Dated].
func (c *Clock) SetNow(now time.Time, sure bool) {
	c.Latest, c.local.now, c.local.sure = now, now.Unix(), sure
}

// Bare implements [Dated].
func (c *Clock) Bare() bool { return c.local.bare }

// Off implements [Dated].
func (c *Clock) Off() Off { return c.local.off }

// SetTime implements [Dated].
func (c *Clock) SetTime(text []byte, by *Clock) {
	c.writtenText, c.writtenBy, c.written, c.timed, c.settles = text, by, Instant{}, false, Instant{}
}

// Written returns when the line's envelope says that it was written.
func (c *Clock) Written() (at Instant, ok bool) {
	if c.writtenText != nil {
		c.written, c.timed = c.writtenBy.Any(c.writtenText)
		if c.writtenText = nil; c.timed && c.settles.sec == 0 {
			c.Settle(c.written)
		}
	}
	return c.written, c.timed
}

// SetHeader implements [Dated].
func (c *Clock) SetHeader(before []byte) { c.header = before }

// Settle says that a line was written at an instant, if that was read with its zone: a stamp in
// the line that names none is then in the offset that brings it nearest. It returns what settled
// it before, for [Clock.Unsettle].
func (c *Clock) Settle(at Instant) (before Instant) {
	if before = c.settles; !at.bare && at.sec != 0 {
		c.settles = at
	}
	return before
}

// Unsettle ends what Settle began.
func (c *Clock) Unsettle(before Instant) { c.settles = before }

// unix returns the instant of a date in unix seconds. One without a zone is in the offset that
// brings it nearest to what stands around the line; else of the clock's zone, or, of lines that
// are written now, of UTC where that is what fits.
func (c *Clock) unix(d civil) int64 {
	utc := d.unix(time.UTC)
	if d.zoned {
		return utc
	}
	if at, ok := c.settled(utc); ok {
		return at
	}
	l := &c.local
	l.bare = true
	if c.Zone == time.UTC && l.now == 0 {
		return utc
	}
	l.prev = l.choose(l.inOrder(d, c.Zone), utc)
	return l.prev
}

// settled returns the instant of a date, given as if it were UTC, by the instant at which the
// line was written.
func (c *Clock) settled(utc int64) (at int64, ok bool) {
	if c.settles.sec == 0 {
		c.Written()
	}
	by := c.settles
	if c.header != nil {
		by = zonedStamp(c.header, by)
	}
	if by.sec == 0 {
		return 0, false
	}
	offset := nearestQuarter(utc - by.sec)
	return utc - offset, -westmost <= offset && offset <= eastmost
}

// zonedStamp returns the last stamp with a zone in what stands before a line, or else what it
// is given.
func zonedStamp(header []byte, at Instant) Instant {
	for len(header) > 0 {
		size := SyslogPrefix(header)
		if size == 0 {
			break
		}
		frame := header[:size]
		frame = frame[Priority(frame):]
		frame = bytes.TrimPrefix(frame, []byte("1 ")) // RFC 5424
		c := Clock{Zone: time.UTC}
		if t, _, ok := c.Stamp(frame); ok && !t.bare {
			at = t
		}
		header = header[size:]
	}
	return at
}

// nearestQuarter returns the whole quarters of an hour that are nearest, in seconds.
func nearestQuarter(seconds int64) int64 {
	if seconds < 0 {
		return -nearestQuarter(-seconds)
	}
	return (seconds + quarter/2) / quarter * quarter
}

// choose returns the reading of a stamp that holds: that of the zone, or of UTC.
func (l *local) choose(zoned, utc int64) int64 {
	if l.now == 0 {
		return zoned
	}
	used, other := zoned, utc
	if l.inUTC {
		used, other = other, used
	}
	if !l.sure && used != other && l.isOther(used, other) {
		used = other
	}
	l.watch(used)
	return used
}

// isOther reports whether the other reading holds for a line, and notes what that says of the
// next ones.
func (l *local) isOther(used, other int64) bool {
	first := !l.begun
	l.begun = true
	latest := l.now + freshFor
	switch {
	case l.now-staleAfter <= used && used <= latest:
		l.turn = run{}
		return false
	case used > latest && other <= latest && (used > l.now+staleAfter || l.inUTC || other >= l.now-freshFor):
		// The other may be late; this one cannot be.
	case other < l.now-freshFor || other > latest:
		return false
	case first:
		l.inUTC = !l.inUTC
		return true
	}
	enough := l.turn.goesOn(l.now)
	if enough {
		l.inUTC, l.turn = !l.inUTC, run{}
	}
	return enough || used > latest
}

// watch notes by how much a line is off.
func (l *local) watch(at int64) {
	by := at - l.now
	whole := nearestQuarter(by)
	switch {
	case whole == 0 || distance(by, whole) > freshFor || distance(whole, 0) > eastmost+westmost:
		l.off = Off{}
	case whole != l.off.Seconds:
		l.off = Off{Seconds: whole, Lines: 1, Since: l.now}
	default:
		l.off.Lines++
	}
}

// inOrder returns the instant of a date in a zone. Of an hour that comes twice it is the one
// nearest to now or, where that is not known, the first that is not before the file's last; an
// hour that is missing is shifted.
func (l *local) inOrder(d civil, zone *time.Location) int64 {
	at := time.Date(d.year, time.Month(d.month), d.day, d.hour, d.minute, d.second, 0, zone)
	_, offset := at.Zone()
	early := at.Unix()
	late := early
	for _, around := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		_, then := at.Add(around).Zone()
		other := at.Add(time.Duration(offset-then) * time.Second)
		if _, own := other.Zone(); own == then {
			early, late = min(early, other.Unix()), max(late, other.Unix())
		}
	}
	if l.now != 0 && distance(late, l.now) < distance(early, l.now) || l.now == 0 && early < l.prev-staleAfter {
		return late // servers write a request when it ends, some minutes out of order
	}
	return early
}

func distance(a, b int64) int64 {
	if a < b {
		return b - a
	}
	return a - b
}
