package scan

import (
	"encoding/binary"
	"time"
)

// Clock reads the times of one file. Neighbouring lines share their minute, so
// the last one is kept and most stamps cost a comparison. It is not safe for
// concurrent use.
type Clock struct {
	Zone   *time.Location // of stamps that name none
	Latest time.Time      // stamps without a year are not after it; zero: such stamps are not read
	local  local          // how stamps without a zone are read
	// What stands around the line says when it was written: its envelope, for one without a time of its
	// own, what stands before it, and of these the instant that settles a stamp without a zone.
	written     Instant
	writtenText []byte // as it stands there, until it is asked for
	writtenBy   *Clock
	timed       bool
	header      []byte
	settles     Instant
	last        stamp
	base        int64 // the minute of last in unix seconds; valid if cached
	cached      bool
}

// stamp is what stays the same within a minute, as words that compare quickly.
type stamp struct {
	day    uint64 // 20/Feb/2
	hour   uint64 // 016:00:0
	minute byte   // 0
	sign   uint16 // " -"
	zone   uint32 // 0500
}

// stampOf reads 20/Feb/2016:00:00 at the start of b, and " -0500" at n.
func stampOf(b []byte, n int) stamp {
	le := binary.LittleEndian
	return stamp{le.Uint64(b), le.Uint64(b[8:]), b[16], le.Uint16(b[n:]), le.Uint32(b[n+2:])}
}

// Instant is a point in time: unix seconds and the nanoseconds after them.
type Instant struct {
	sec  int64
	nsec int32
	bare bool // read from a stamp that names no zone
}

// The instants an event may have: a slot number of one second ends in 2106.
const (
	minSec = 0
	maxSec = 1<<32 - 1
)

// OK reports whether an event may have this instant.
func (t Instant) OK() bool { return t.sec >= minSec && t.sec <= maxSec }

// Time returns the instant in UTC.
func (t Instant) Time() time.Time { return time.Unix(t.sec, int64(t.nsec)).UTC() }

// CLF reads the stamp of the common log format at the start of b, with a
// fraction (HAProxy) and a zone if they are there, and returns its length.
func (c *Clock) CLF(b []byte) (t Instant, n int, ok bool) {
	if len(b) < 20 || b[17] != ':' {
		return t, 0, false
	}
	second, ok := digits2(b[18:])
	if !ok || second > 60 {
		return t, 0, false
	}
	n = 20
	if n < len(b) && b[n] == '.' {
		t.nsec, n = fraction(b, n+1)
	}
	if c.cached && len(b) >= n+6 && stampOf(b, n) == c.last {
		t.sec = c.base + int64(second)
		return t, n + 6, true
	}
	var d civil
	if d, ok = clfMinute(b); !ok {
		return t, 0, false
	}
	zoned := false
	if n+6 <= len(b) && b[n] == ' ' {
		if d.offset, zoned = numericZone(b[n+1 : n+6]); zoned {
			n += 6
		}
	}
	d.zoned, t.bare = zoned, !zoned
	t.sec = c.unix(d) + int64(second)
	if zoned {
		c.last, c.base, c.cached = stampOf(b, n-6), t.sec-int64(second), true
	}
	return t, n, true
}

// clfMinute reads 20/Feb/2016:00:00.
func clfMinute(b []byte) (d civil, ok bool) {
	if b[2] != '/' || b[6] != '/' || b[11] != ':' || b[14] != ':' {
		return d, false
	}
	day, ok1 := digits2(b)
	month, ok2 := monthOf(b[3:6])
	year, ok3 := digits4(b[7:])
	hour, ok4 := digits2(b[12:])
	minute, ok5 := digits2(b[15:])
	d = civil{year: year, month: month, day: day, hour: hour, minute: minute}
	return d, ok1 && ok2 && ok3 && ok4 && ok5 && d.valid()
}

// ISO reads 2016-02-20T00:00:45.123-05:00 or with a blank for the T, at the
// start of b, and returns its length. Without a zone it is of the clock's.
func (c *Clock) ISO(b []byte) (t Instant, n int, ok bool) {
	if len(b) < 19 || b[4] != '-' || b[7] != '-' || b[10] != 'T' && b[10] != ' ' || b[13] != ':' || b[16] != ':' {
		return t, 0, false
	}
	var d civil
	var oks [6]bool
	d.year, oks[0] = digits4(b)
	d.month, oks[1] = digits2(b[5:])
	d.day, oks[2] = digits2(b[8:])
	d.hour, oks[3] = digits2(b[11:])
	d.minute, oks[4] = digits2(b[14:])
	d.second, oks[5] = digits2(b[17:])
	if oks != [6]bool{true, true, true, true, true, true} || !d.valid() {
		return t, 0, false
	}
	n = 19
	if n+1 < len(b) && (b[n] == '.' || b[n] == ',') && IsDigit(b[n+1]) {
		t.nsec, n = fraction(b, n+1)
	}
	size := 0
	d.offset, size = isoZone(b[n:])
	d.zoned, t.bare = size > 0, size == 0
	t.sec = c.unix(d)
	return t, n + size, true
}

// isoZone reads Z, +01:00, +0100 or +01.
func isoZone(b []byte) (offset, n int) {
	switch {
	case len(b) > 0 && b[0] == 'Z':
		return 0, 1
	case len(b) >= 6 && b[3] == ':':
		if off, ok := numericZone([]byte{b[0], b[1], b[2], b[4], b[5]}); ok {
			return off, 6
		}
	case len(b) >= 5 && IsDigit(b[3]):
		if off, ok := numericZone(b[:5]); ok {
			return off, 5
		}
	case len(b) >= 3:
		if off, ok := numericZone([]byte{b[0], b[1], b[2], '0', '0'}); ok {
			return off, 3
		}
	}
	return 0, 0
}

// numericZone reads ±hhmm, which no place on earth has beyond 14 hours, in seconds east of Greenwich.
func numericZone(b []byte) (offset int, ok bool) {
	h, ok1 := digits2(b[1:])
	m, ok2 := digits2(b[3:])
	if !ok1 || !ok2 || h > eastmost/3600 || m > 59 || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	offset = h*3600 + m*60
	if b[0] == '-' {
		offset = -offset
	}
	return offset, true
}

// Any reads a time that is all of b: a number of seconds or of less, or what [Clock.Stamp]
// knows.
func (c *Clock) Any(b []byte) (Instant, bool) {
	if t, n, ok := c.ISO(b); ok && n == len(b) {
		return t, true
	}
	if len(b) > 2 && b[0] == '[' && b[len(b)-1] == ']' {
		b = b[1 : len(b)-1]
	}
	if t, n, ok := c.CLF(b); ok && n == len(b) {
		return t, true
	}
	if t, n, ok := UnixNumber(b, 0); ok && n == len(b) {
		return t, true
	}
	t, n, ok := c.stamp(b)
	return t, ok && n == len(b)
}

// UnixNumber reads a count of seconds, milli-, micro- or nanoseconds since 1970,
// with a fraction if it is there, and returns its length. Per is how many of the
// unit make a second; 0 guesses it by size: 2001 in the finer unit is after 5138
// in the coarser.
func UnixNumber(b []byte, per int64) (t Instant, n int, ok bool) {
	var whole int64
	for n < len(b) && IsDigit(b[n]) {
		if n > 18 {
			return t, 0, false
		}
		whole = whole*10 + int64(b[n]-'0')
		n++
	}
	if n == 0 {
		return t, 0, false
	}
	if per == 0 {
		per = 1
		for limit := int64(1e11); whole >= limit && per < 1e9; limit *= 1000 {
			per *= 1000
		}
	}
	t.sec = whole / per
	t.nsec = int32(whole % per * (1e9 / per))
	if n+1 < len(b) && b[n] == '.' && IsDigit(b[n+1]) {
		var part int32
		part, n = fraction(b, n+1)
		t.nsec += part / int32(per)
	}
	return t, n, true
}

// fraction reads the digits from b[i], the first a tenth, as nanoseconds, and
// returns the index after them.
func fraction(b []byte, i int) (nsec int32, next int) {
	for scale := int32(1e8); i < len(b) && IsDigit(b[i]); i++ {
		nsec += int32(b[i]-'0') * scale
		scale /= 10
	}
	return nsec, i
}
