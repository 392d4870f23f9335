package formats

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/logline/scan"
)

// csvParser reads the rows of one delimited file, whose first line names their columns.
type csvParser struct {
	format *CSVColumns
	scan.Clock
	part  []scan.LinePart // of each column
	width int             // of a row: what a header has
	// open counts the bytes of a quoted field that began on an earlier line;
	// 0 outside. Its lines are a client's, and are not rows.
	open int
}

const (
	spansLines scan.Reason = "a quoted field continues on the next line"
	inside     scan.Reason = "inside a quoted field that began on an earlier line"
	tooFew     scan.Reason = "fewer columns than the header"
	badQuote   scan.Reason = "a quoted field is followed by more than a delimiter"
)

// Bind reads the header.
func (p *csvParser) Bind(line []byte) error {
	var names []string
	for rest, more := line, true; more; {
		var name []byte
		name, rest, more = bytes.Cut(rest, []byte{p.format.sep})
		names = append(names, strings.Trim(strings.TrimSpace(string(name)), `"`))
	}
	p.width = len(names)
	p.part = make([]scan.LinePart, len(names))
	var missing []error
	for f, column := range p.format.columns {
		if column == "" {
			continue
		}
		i := slices.Index(names, column)
		if i < 0 {
			missing = append(missing, fmt.Errorf("the header has no column %q for %s; it has %s",
				column, csvFieldNames[f], scan.Printable([]byte(strings.Join(names, ", ")))))
			continue
		}
		if p.part[i] != scan.PartNone {
			missing = append(missing, fmt.Errorf("column %q cannot be both %s and %s", column, csvFieldNames[p.part[i]], csvFieldNames[f]))
		}
		p.part[i] = scan.LinePart(f)
	}
	return errors.Join(missing...)
}

func (p *csvParser) Parse(line []byte, ev *edgeguard.Event) scan.Reason {
	if p.open > 0 {
		return p.inside(line)
	}
	var f scan.Fields
	column := 0
	for rest, more := line, true; more; column++ {
		var value []byte
		var why scan.Reason
		value, rest, more, why = p.cut(rest)
		if why != scan.Read {
			return why
		}
		if column < p.width {
			if why = p.set(&f, p.part[column], value); why != scan.Read {
				// The rest of the row is still looked at for an open quote.
				return p.finish(rest, more, why)
			}
		}
	}
	if column < p.width {
		return tooFew
	}
	return f.Event(ev)
}

// finish walks over what is left of a row that has failed.
func (p *csvParser) finish(rest []byte, more bool, why scan.Reason) scan.Reason {
	for more {
		var bad scan.Reason
		if _, rest, more, bad = p.cut(rest); bad != scan.Read {
			return bad
		}
	}
	return why
}

// cut takes the first field off a row.
func (p *csvParser) cut(row []byte) (value, rest []byte, more bool, why scan.Reason) {
	if len(row) == 0 || row[0] != '"' {
		value, rest, more = bytes.Cut(row, []byte{p.format.sep})
		return value, rest, more, scan.Read
	}
	end := csvQuoteEnd(row, 1)
	if end < 0 {
		p.open = len(row)
		return nil, nil, false, spansLines
	}
	value = row[1:end]
	if bytes.IndexByte(value, '"') >= 0 {
		value = undouble(value)
	}
	switch {
	case end+1 == len(row):
		return value, nil, false, scan.Read
	case row[end+1] == p.format.sep:
		return value, row[end+2:], true, scan.Read
	}
	return nil, nil, false, badQuote
}

// inside looks for the end of a quoted field that began on an earlier line.
// The rest of that row goes with it. A quote that is never closed may not
// swallow the file: after the longest line there may be, rows begin again.
func (p *csvParser) inside(line []byte) scan.Reason {
	p.open += len(line) + 1
	end := csvQuoteEnd(line, 0)
	if end >= 0 {
		p.open = 0
		if end+1 < len(line) && line[end+1] == p.format.sep {
			p.finish(line[end+2:], true, inside) // may open another
		}
	}
	if p.open > scan.MaxLine {
		p.open = 0
	}
	return inside
}

func (p *csvParser) Sure() netip.Addr { return netip.Addr{} }

// Stream passes over a row that is too long, except for its quotes: one that it
// leaves open makes the lines after it a client's.
func (p *csvParser) Stream() scan.Stream { return &csvStream{parser: p} }

type csvStream struct {
	parser *csvParser
	quotes int
}

func (s *csvStream) Feed(piece []byte) { s.quotes += bytes.Count(piece, []byte{'"'}) }

func (s *csvStream) Over() bool { return false }

func (s *csvStream) End(*edgeguard.Event) scan.Reason {
	why := scan.OverRow
	if s.parser.open > 0 {
		why = inside
	}
	s.parser.open = (s.quotes + min(s.parser.open, 1)) % 2
	return why
}

// csvQuoteEnd returns the index of the quote that closes, from i, or -1.
func csvQuoteEnd(b []byte, i int) int {
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		if i+1 == len(b) || b[i+1] != '"' {
			return i
		}
		i += 2
	}
}

// undouble makes one quote of two, in place.
func undouble(b []byte) []byte {
	w := 0
	for r := 0; r < len(b); r, w = r+1, w+1 {
		b[w] = b[r]
		if b[r] == '"' && r+1 < len(b) && b[r+1] == '"' {
			r++
		}
	}
	return b[:w]
}

// set keeps a column's value.
func (p *csvParser) set(f *scan.Fields, part scan.LinePart, b []byte) scan.Reason {
	ok := true
	switch part {
	case scan.PartTime:
		if f.At, ok = p.Clock.Any(b); !ok {
			return scan.BadTime
		}
	case scan.PartAddr:
		if f.Addr, ok = scan.AddrOrNumber(b); !ok {
			return scan.BadAddr
		}
	default:
		f.Set(part, b)
	}
	return scan.Read
}
