package scan

import (
	"fmt"
	"strings"
)

// DateFormat is a compiled time format.
type DateFormat []datePart

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

// CompileDate compiles the format of Apache's %{format}t: msec_frac, usec_frac,
// or the subset of strftime that names an instant by numbers and English months.
func CompileDate(format string) (DateFormat, error) {
	switch format {
	case "msec_frac":
		return DateFormat{{verb: dateMilli}}, nil
	case "usec_frac":
		return DateFormat{{verb: dateMicro}}, nil
	}
	long := strings.NewReplacer("%F", "%Y-%m-%d", "%T", "%H:%M:%S", "%D", "%m/%d/%y", "%R", "%H:%M", "%%", "%%")
	format = long.Replace(format)
	var parts DateFormat
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
			return nil, fmt.Errorf("the time format ends in a bare %%")
		case rest[0] == '%':
			parts = append(parts, datePart{lit: "%"})
		case strings.IndexByte(dateVerbs, rest[0]) >= 0:
			parts = append(parts, datePart{verb: rest[0]})
		default:
			return nil, fmt.Errorf("unsupported %%%c in a time format: use %%Y %%m %%d %%H %%M %%S %%z %%b %%e %%s %%F %%T", rest[0])
		}
		format = rest[1:]
	}
	return parts, nil
}

// Date gathers what the parts of a line say, which may be several fields:
// %{%F %T}t.%{msec_frac}t %{%z}t.
type Date struct {
	civil
	nsec   int32
	unix   int64 // by %s
	dated  bool
	isUnix bool
}

// Read takes the parts from the start of b and returns their length.
func (d *Date) Read(parts DateFormat, b []byte) (n int, ok bool) {
	for _, p := range parts {
		size := 0
		if p.verb == 0 {
			if !HasPrefix(b[n:], p.lit) {
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

// readVerb returns how many bytes the verb took, 0 if they do not fit it.
func (d *Date) readVerb(verb byte, b []byte) int {
	switch verb {
	case 'Y':
		d.dated = true
		return Number(b, 4, &d.year)
	case 'y':
		d.dated = true
		n := Number(b, 2, &d.year)
		d.year += 2000
		if d.year >= 2069 { // POSIX: 69 to 99 are of the 20th century
			d.year -= 100
		}
		return n
	case 'm':
		return Number(b, 2, &d.month)
	case 'd':
		return Number(b, 2, &d.day)
	case 'e':
		if len(b) > 1 && b[0] == ' ' {
			return 2 * Number(b[1:], 1, &d.day)
		}
		return Number(b, 2, &d.day)
	case 'H':
		return Number(b, 2, &d.hour)
	case 'M':
		return Number(b, 2, &d.minute)
	case 'S':
		return Number(b, 2, &d.second)
	case dateMilli, dateMicro:
		size := 3 * int(verb)
		if len(b) < size || !IsDigit(b[0]) {
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

func (d *Date) readWord(verb byte, b []byte) int {
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
		t, n, ok := UnixNumber(b, 1)
		if !ok {
			return 0
		}
		d.unix, d.isUnix = t.sec, true
		return n
	}
	return 0
}

// Instant returns the point in time that the parts name, if they name one.
func (d *Date) Instant(c *Clock) (Instant, bool) {
	if d.isUnix {
		return Instant{sec: d.unix, nsec: d.nsec}, true
	}
	if !d.dated || !d.valid() {
		return Instant{}, false
	}
	return Instant{c.unix(d.civil), d.nsec, !d.zoned}, true
}
