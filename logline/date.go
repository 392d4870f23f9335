package logline

import (
	"fmt"
	"strings"
)

// dateFormat is a compiled time format.
type dateFormat []datePart

// datePart is one part of a strftime format: text that must stand there, or a
// verb.
type datePart struct {
	verb byte // 0 for text
	lit  string
}

// Verbs of Apache's own, beside the letters of strftime.
const (
	dateMilli = 1 // %{msec_frac}t
	dateMicro = 2 // %{usec_frac}t
)

const dateVerbs = "YymbhdeHMSzs"

// compileDate compiles the format of Apache's %{format}t: msec_frac, usec_frac,
// or the subset of strftime that names an instant by numbers and English months.
func compileDate(format string) (dateFormat, error) {
	switch format {
	case "msec_frac":
		return dateFormat{{verb: dateMilli}}, nil
	case "usec_frac":
		return dateFormat{{verb: dateMicro}}, nil
	}
	long := strings.NewReplacer("%F", "%Y-%m-%d", "%T", "%H:%M:%S", "%D", "%m/%d/%y", "%R", "%H:%M", "%%", "%%")
	format = long.Replace(format)
	var parts dateFormat
	for format != "" {
		lit, rest, found := strings.Cut(format, "%")
		if lit != "" {
			parts = append(parts, datePart{lit: lit})
		}
		if !found {
			break
		}
		switch {
		case rest == "":
			return nil, fmt.Errorf("a %% ends the time format")
		case rest[0] == '%':
			parts = append(parts, datePart{lit: "%"})
		case strings.IndexByte(dateVerbs, rest[0]) >= 0:
			parts = append(parts, datePart{verb: rest[0]})
		default:
			return nil, fmt.Errorf("%%%c in a time format is not read: use %%Y %%m %%d %%H %%M %%S %%z %%b %%e %%s %%F %%T", rest[0])
		}
		format = rest[1:]
	}
	return parts, nil
}

// date gathers what the parts of a line say, which may be several fields:
// %{%F %T}t.%{msec_frac}t %{%z}t.
type date struct {
	civil
	nsec   int32
	unix   int64 // by %s
	dated  bool
	isUnix bool
}

// read takes the parts from the start of b and gives their length.
func (d *date) read(parts dateFormat, b []byte) (n int, ok bool) {
	for _, p := range parts {
		size := 0
		if p.verb == 0 {
			if !hasPrefix(b[n:], p.lit) {
				return 0, false
			}
			size = len(p.lit)
		} else if size = d.readVerb(p.verb, b[n:]); size == 0 {
			return 0, false
		}
		n += size
	}
	return n, true
}

// readVerb gives how many bytes the verb took, 0 if they do not fit it.
func (d *date) readVerb(verb byte, b []byte) int {
	switch verb {
	case 'Y':
		d.dated = true
		return number(b, 4, &d.year)
	case 'y':
		d.dated = true
		n := number(b, 2, &d.year)
		d.year += 2000
		if d.year >= 2069 { // POSIX: 69 to 99 are of the 20th century
			d.year -= 100
		}
		return n
	case 'm':
		return number(b, 2, &d.month)
	case 'd':
		return number(b, 2, &d.day)
	case 'e':
		if len(b) > 1 && b[0] == ' ' {
			return 2 * number(b[1:], 1, &d.day)
		}
		return number(b, 2, &d.day)
	case 'H':
		return number(b, 2, &d.hour)
	case 'M':
		return number(b, 2, &d.minute)
	case 'S':
		return number(b, 2, &d.second)
	case dateMilli, dateMicro:
		size := 3 * int(verb)
		if len(b) < size || !isDigit(b[0]) {
			return 0
		}
		var end int
		if d.nsec, end = fraction(b[:size], 0); end != size {
			return 0
		}
		return size
	}
	return d.readWord(verb, b)
}

func (d *date) readWord(verb byte, b []byte) int {
	switch verb {
	case 'b', 'h':
		if len(b) < 3 {
			return 0
		}
		m, ok := monthOf(b)
		if !ok {
			return 0
		}
		d.month = m
		return 3
	case 'z':
		off, n := isoZone(b)
		d.offset, d.zoned = off, n > 0
		return n
	case 's':
		t, n, ok := unixNumber(b, 1)
		if !ok {
			return 0
		}
		d.unix, d.isUnix = t.sec, true
		return n
	}
	return 0
}

// instant gives the point in time that the parts name, if they name one.
func (d *date) instant(c *clock) (instant, bool) {
	if d.isUnix {
		return instant{d.unix, d.nsec}, true
	}
	if !d.dated || !d.valid() {
		return instant{}, false
	}
	return instant{d.civil.unix(c.zone), d.nsec}, true
}
