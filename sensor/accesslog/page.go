package accesslog

import (
	"bytes"

	"edgeguard"
)

// page is a block of a log and the events in it. Pages go round between the
// goroutine that reads, the one that parses, and the caller.
type page struct {
	buf    []byte // the block's memory
	text   []byte // the lines, in buf
	events []edgeguard.Event

	// What parsing it added to the file's totals.
	lines   uint64
	skipped uint64
	shown   []Skipped
	gaps    []gap
}

// gap says that from an event on, lines are so far ahead of events: its line
// number is its own number plus ahead. Nearly every line is an event, so that
// a few gaps number all of them.
type gap struct {
	event uint64
	ahead uint64
}

// lineParser parses the pages of one file, in their order.
type lineParser struct {
	parser
	name   string
	lines  uint64 // so far
	events uint64
	ahead  uint64
	shown  int
}

// parse fills the page's events from its text.
func (l *lineParser) parse(p *page) {
	before, firstEvent := l.lines, l.events
	p.events, p.shown, p.gaps, p.skipped = p.events[:0], nil, p.gaps[:0], 0
	for rest := p.text; len(rest) > 0; {
		line := rest
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			line, rest = rest[:end], rest[end+1:]
		} else {
			rest = nil
		}
		l.lines++
		l.parseLine(p, line, firstEvent)
	}
	l.events += uint64(len(p.events))
	p.lines = l.lines - before
}

func (l *lineParser) parseLine(p *page, line []byte, firstEvent uint64) {
	full := line
	if line = trim(line); len(line) == 0 {
		if len(full) <= maxLine {
			return
		}
		line = full // only the beginning of what a hole of NULs has swallowed
	}
	why := tooLong
	if len(line) <= maxLine {
		p.events = grow(p.events)
		at := len(p.events) - 1
		if why = l.parser.parse(line, &p.events[at]); why == read {
			number := firstEvent + uint64(at)
			if ahead := l.lines - number; ahead != l.ahead {
				l.ahead = ahead
				p.gaps = append(p.gaps, gap{number, ahead})
			}
			return
		}
		p.events = p.events[:at]
	}
	p.skipped++
	if l.shown < maxShown {
		l.shown++
		p.shown = append(p.shown, newSkipped(l.name, l.lines, line, why))
	}
}

// grow adds an event without clearing it: parse overwrites all of it.
func grow(events []edgeguard.Event) []edgeguard.Event {
	if len(events) < cap(events) {
		return events[:len(events)+1]
	}
	return append(events, edgeguard.Event{})
}

// trim takes off what is no part of a line: the carriage return of Windows, a
// byte order mark, and the NULs that copytruncate leaves in front of it.
func trim(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if len(line) == 0 || line[0] != 0 && line[0] != 0xEF {
		return line
	}
	return bytes.TrimPrefix(bytes.TrimLeft(line, "\x00"), []byte("\xEF\xBB\xBF"))
}
