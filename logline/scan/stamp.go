package scan

import (
	"bytes"
	"time"
)

// Stamp reads the time at the start of b, in brackets or without, and returns
// its length. It knows the layouts that name one instant whoever reads them:
//
//	2006-01-02T15:04:05.123+01:00, 2006/01/02 15:04:05 UTC, 2006.01.02-15:04:05
//	02/Jan/2006:15:04:05 -0700, 02-Jan-2006 15:04:05 -0700
//	Jan  2 15:04:05, Jan 2 2006 15:04:05, Mon Jan 02 15:04:05.123456 2006
//	Mon 2006-01-02 15:04:05 UTC, Mon, 02 Jan 2006 15:04:05 UTC, Monday, 02-Jan-06 15:04:05 GMT, 02/Jan/2006 15:04:05, 01/02/2006, 3:04:05 PM, 060102 15:04:05, 2006/01/02 - 15:04:05, 1136214245.123
//	02.01.2006, 15:04:05 and 02.01.2006 15:04:05, 02/01/2006, 15:04:05, 02-01-2006, 15:04:05
//
// Those with a comma are what JavaScript writes by the server's language: the day first, except
// with AM or PM. Other days and months in digits, which may be either, are none of these.
func (c *Clock) Stamp(b []byte) (t Instant, n int, ok bool) {
	if len(b) == 0 || b[0] != '[' {
		if t, n, ok = c.stamp(b); !ok {
			n = 0
		}
		return t, n, ok
	}
	t, n, ok = c.stamp(b[1:])
	if !ok || n+1 >= len(b) || b[n+1] != ']' {
		return t, 0, false
	}
	return t, n + 2, true
}

func (c *Clock) stamp(b []byte) (t Instant, n int, ok bool) {
	switch {
	case len(b) < 10:
		return t, 0, false
	case len(b) > 24 && b[3] == ' ' && IsDigit(b[4]) && weekday(b): // journalctl -o short-full
		t, n, ok = c.yearFirst(b[4:])
		if n += 4; ok && t.bare && n < len(b) && b[n] == ' ' { // a zone by its letters: the host's
			n += max(1+bytes.IndexByte(b[n+1:], ' '), 0)
		}
		return t, n, ok
	case b[3] == ',' && weekday(b): // Sun, 22 Nov 2026 10:00:00
		t, n, ok = c.dayMonth(b[5:])
		return t, n + 5, ok
	case !IsDigit(b[0]):
		return c.monthFirst(b)
	case b[2] == b[5] && len(b) > 18 && (b[2] == '.' || b[10] == ',' && (b[2] == '/' || b[2] == '-')):
		return c.dayFirst(b)
	case b[2] == '/' && len(b) > 19 && b[11] == ' ':
		return c.dayMonth(b)
	case b[2] == '/' && len(b) > 11 && b[11] == ':':
		return c.CLF(b)
	case len(b) > 14 && b[6] == ' ' && b[9] == ':' && Number(b, 6, new(int)) > 0:
		return c.shortYear(b)
	case b[2] == '-' && b[6] == '-':
		return c.dayMonth(b)
	case !IsDigit(b[4]):
		return c.yearFirst(b)
	}
	if t, n, ok = UnixNumber(b, 0); !ok || t.sec < 1e8 { // a short number is no time
		return t, 0, false
	}
	return t, n, true
}

// yearFirst reads 2006-01-02 15:04:05 with any of the usual delimiters.
func (c *Clock) yearFirst(b []byte) (t Instant, n int, ok bool) {
	var d civil
	if len(b) < 19 || bytes.IndexByte([]byte("-/.:"), b[4]) < 0 || b[7] != b[4] || bytes.IndexByte([]byte("T -,"), b[10]) < 0 ||
		Number(b, 4, &d.year) == 0 || Number(b[5:], 2, &d.month) == 0 || Number(b[8:], 2, &d.day) == 0 {
		return t, 0, false
	}
	n = 11
	if b[10] == ' ' && HasPrefix(b[n:], "- ") { // Gin
		n += 2
	}
	comma := b[10] == ',' // JavaScript's, as in Canada
	if comma && b[n] == ' ' && b[n+2] != ':' {
		n++
	}
	if t.nsec, n, ok = d.timeOfDay(b, n); !ok {
		return t, 0, false
	}
	if size := 0; comma {
		if size, _ = d.halfDay(b[n:]); size < 0 {
			return t, 0, false
		}
		n += size
	}
	n = d.readZone(b, n)
	return c.civilInstant(d, t.nsec, n)
}

// shortYear reads 060102 15:04:05, as MySQL wrote it; the hour may have a blank.
func (c *Clock) shortYear(b []byte) (t Instant, n int, ok bool) {
	var d civil
	_, _, _ = Number(b, 2, &d.year), Number(b[2:], 2, &d.month), Number(b[4:], 2, &d.day)
	d.year += 2000
	if t.nsec, n, ok = d.timeOfDay(b, 7); !ok {
		return t, 0, false
	}
	return c.civilInstant(d, t.nsec, n)
}

// dayMonth reads 02-Jan-2006 15:04:05, or with slashes or blanks.
func (c *Clock) dayMonth(b []byte) (t Instant, n int, ok bool) {
	var d civil
	end := 11
	if len(b) > 9 && b[9] == ' ' { // RFC 850
		end = 9
	}
	if len(b) < end+9 || b[end] != ' ' || b[2] != b[6] || Number(b, 2, &d.day) == 0 || Number(b[7:], end-7, &d.year) == 0 {
		return t, 0, false
	}
	if end == 9 {
		d.year += 2000
	}
	if d.month, ok = monthOf(b[3:6]); !ok {
		return t, 0, false
	}
	if t.nsec, n, ok = d.timeOfDay(b, end+1); !ok {
		return t, 0, false
	}
	n = d.readZone(b, n)
	return c.civilInstant(d, t.nsec, n)
}

// dayFirst reads a date in digits whose year is last: 02.01.2006, 15:04:05 as most languages have
// it, 01/02/2006, 3:04:05 PM as the American has.
func (c *Clock) dayFirst(b []byte) (t Instant, n int, ok bool) {
	var d civil
	if Number(b, 2, &d.day) == 0 || Number(b[3:], 2, &d.month) == 0 || Number(b[6:], 4, &d.year) == 0 {
		return t, 0, false
	}
	if n = 10; b[n] == ',' {
		n++
	}
	if b[n] != ' ' {
		return t, 0, false
	}
	if n++; len(b) > n+1 && b[n+1] == ':' { // one digit
		n--
	}
	if t.nsec, n, ok = d.timeOfDay(b, n); !ok {
		return t, 0, false
	}
	size, capital := d.halfDay(b[n:])
	if b[2] == '/' && capital { // the British and Australian am is small
		d.day, d.month = d.month, d.day
	}
	if n += size; size < 0 {
		return t, 0, false
	}
	return c.civilInstant(d, t.nsec, n)
}

// halfDay reads AM, PM, am or p.m. behind a blank, which may be a narrow one (of Node 20), and
// returns its length, 0 if there is nothing of that, -1 with an hour that has none.
func (d *civil) halfDay(b []byte) (n int, capital bool) {
	for _, blank := range []string{" ", "\u202f", "\u00a0"} {
		if HasPrefix(b, blank) {
			n = len(blank)
		}
	}
	if n == 0 || len(b) < n+2 || b[n]|0x20 != 'a' && b[n]|0x20 != 'p' {
		return 0, false
	}
	pm := b[n]|0x20 == 'p'
	if n++; b[n] == '.' {
		n++
	}
	if n == len(b) || b[n]|0x20 != 'm' {
		return 0, false
	}
	capital = b[n] == 'M'
	if n++; n < len(b) && b[n] == '.' {
		n++
	}
	if d.hour == 0 || d.hour > 12 {
		return -1, false
	}
	if d.hour %= 12; pm {
		d.hour += 12
	}
	return n, capital
}

// monthFirst reads Jan 2 15:04:05, with a weekday before it and a year before or
// after the time of day if they are there.
func (c *Clock) monthFirst(b []byte) (t Instant, n int, ok bool) {
	if b[3] == ' ' && weekday(b) {
		n = 4
	}
	if day := bytes.IndexByte(b[:10], ','); b[3] >= 'a' && day > 3 && len(b) > day+1 && weekday(b) { // Sunday, 22-Nov-26
		t, n, ok = c.dayMonth(b[day+2:])
		return t, n + day + 2, ok
	}
	var d civil
	if len(b) < n+14 || b[n+3] != ' ' {
		return t, 0, false
	}
	if d.month, ok = monthOf(b[n:]); !ok {
		return t, 0, false
	}
	n += 4
	if b[n] == ' ' {
		n++
	}
	size := 0
	d.day, size = Digits(b[n:], 2)
	n += size
	if n+1 >= len(b) || b[n] != ' ' {
		return t, 0, false
	}
	n++
	if len(b) > n+4 && b[n+4] == ' ' && Number(b[n:], 4, &d.year) > 0 {
		n += 5
	}
	if t.nsec, n, ok = d.timeOfDay(b, n); !ok {
		return t, 0, false
	}
	if d.year == 0 && HasPrefix(b[n:], " UTC ") { // date
		n, d.zoned = n+4, true
	}
	if end := n + 5; d.year == 0 && len(b) >= end && b[n] == ' ' && (len(b) == end || b[end] == ' ' || b[end] == ']') && Number(b[n+1:], 4, &d.year) > 0 {
		n = end
	}
	if d.year == 0 && !c.guessYear(&d) {
		return t, 0, false
	}
	return c.civilInstant(d, t.nsec, n)
}

// weekday reports whether b begins with a day's name of three letters.
func weekday(b []byte) bool {
	const names = "MonTueWedThuFriSatSun"
	for i := 0; i < len(names); i += 3 {
		if HasPrefix(b, names[i:i+3]) {
			return true
		}
	}
	return false
}

// timeOfDay reads 15:04:05 from b[n], with a fraction if it is there, and returns
// the index after it.
func (d *civil) timeOfDay(b []byte, n int) (nsec int32, next int, ok bool) {
	if len(b) < n+8 || b[n+2] != ':' || b[n+5] != ':' ||
		Number(b[n:], 2, &d.hour) == 0 && (b[n] != ' ' || Number(b[n+1:], 1, &d.hour) == 0) || Number(b[n+3:], 2, &d.minute) == 0 || Number(b[n+6:], 2, &d.second) == 0 {
		return 0, n, false
	}
	n += 8
	if n+1 < len(b) && (b[n] == '.' || b[n] == ',') && IsDigit(b[n+1]) {
		nsec, n = fraction(b, n+1)
	}
	return nsec, n, true
}

// readZone reads a zone from b[n], with a blank before it or without, and returns
// the index after it: n where there is none.
func (d *civil) readZone(b []byte, n int) int {
	at := n
	if at < len(b) && b[at] == ' ' {
		at++
	}
	if HasPrefix(b[at:], "UTC") || HasPrefix(b[at:], "GMT") {
		d.zoned = true
		return at + 3
	}
	off, size := isoZone(b[at:])
	if size == 0 || size == 1 && at > n { // a Z behind a blank is a word
		return n
	}
	d.offset, d.zoned = off, true
	if at += size; off == 0 && HasPrefix(b[at:], " UTC") { // Go's own
		at += len(" UTC")
	}
	return at
}

func (c *Clock) civilInstant(d civil, nsec int32, n int) (Instant, int, bool) {
	if !d.valid() {
		return Instant{}, 0, false
	}
	return Instant{c.unix(d), nsec, !d.zoned}, n, true
}

// guessYear gives a stamp without a year the last one in which it is not more
// than a day after the clock's Latest. It reports whether there is one.
func (c *Clock) guessYear(d *civil) bool {
	if c.Latest.IsZero() {
		return false
	}
	const oneDay = 24 * 60 * 60
	limit := c.Latest.Unix() + oneDay
	for d.year = time.Unix(limit, 0).In(c.Zone).Year(); d.year > 1970; d.year-- {
		if d.valid() && d.unix(c.Zone) <= limit {
			return true
		}
	}
	return false
}
