package logline

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/logline/formats"
	"edgeguard/logline/scan"
)

// sample is how many of a file's first lines decide its format.
const sample = 100

var errUnknownFormat = errors.New("unknown log format: give it with --format: " + formatHint())

// Detect finds the format that reads most of the first lines, and at least half of
// them, or that of a delimited file by the names of its columns, or the service that
// wrote the lines ([Format.IsService]). A log without lines
// is taken for one of the default format. Zone is that of times that name none; nil
// means UTC. The error shows the first line, and block is not changed.
func Detect(block []byte, zone *time.Location) (*Format, error) {
	if zone == nil {
		zone = time.UTC
	}
	lines := FirstLines(block, sample)
	if len(lines) == 0 {
		return named(Default), nil
	}
	best, read := mostReadable(knownFormats, lines, zone)
	if 2*read < len(lines) && lines[0][0] == '{' {
		best, read = mostReadable(wrapped(), lines, zone)
	}
	if 2*read >= len(lines) {
		if best.name == "json" {
			if f := inJSON(lines, zone); f != nil {
				return f, nil
			}
		}
		return best, nil
	}
	if f := delimited(lines, zone); f != nil {
		return f, nil
	}
	f, err := detectServices(block, zone)
	if f != nil {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errUnknownFormat, err)
	}
	if isUTF16(lines[0]) {
		return nil, errors.New(inUTF16)
	}
	if bytes.Count(lines[0], []byte{','}) >= 2 || bytes.Count(lines[0], []byte{';'}) >= 2 {
		return nil, fmt.Errorf("%w (it may be a delimited file: its first line is %q)", errUnknownFormat, scan.Printable(lines[0]))
	}
	return nil, fmt.Errorf("%w (its first line is %q)", errUnknownFormat, scan.Printable(lines[0]))
}

// delimited returns the format of a file whose first line has names of columns that
// say what they hold, if at least half of the other lines are rows of it; else nil.
func delimited(lines [][]byte, zone *time.Location) *Format {
	text := formats.RecognizeCSV(lines[0])
	if text == "" {
		return nil
	}
	f, err := ParseFormat(text)
	if err != nil {
		return nil
	}
	p, rows := f.start(zone), 0
	if p.(scan.Header).Bind(lines[0]) != nil {
		return nil
	}
	for _, line := range lines[1:] {
		var ev edgeguard.Event
		if len(line) <= MaxLine && p.Parse(bytes.Clone(line), &ev) == scan.Read && ev.Time.Year() > 1980 {
			rows++ // small numbers are no time
		}
	}
	if rows == 0 || 2*rows < len(lines)-1 {
		return nil
	}
	return f
}

// mostReadable returns the format that reads most lines, and how many; of two, the one that
// finds more events in them.
func mostReadable(known []*Format, lines [][]byte, zone *time.Location) (best *Format, read int) {
	most := 0
	for _, f := range known {
		if n, events := readable(f, lines, zone); n > read || n == read && events > most {
			best, read, most = f, n, events
		}
	}
	return best, read
}

// readable counts the lines that a format reads, and the events in them. Lines that say nothing of a
// request count beside those that do; by themselves only where they are a format's
// own, and not the pieces of lines in envelopes. Parsers change lines, so each gets a
// copy.
func readable(f *Format, lines [][]byte, zone *time.Location) (n, events int) {
	p := f.start(zone)
	for _, line := range lines {
		var ev edgeguard.Event
		if len(line) > MaxLine {
			continue
		}
		switch scan.ParseLine(p, bytes.Clone(line), &ev) {
		case scan.Read:
			if second, ok := secondAddr(line); ok && ev.Addr != second {
				continue // the first may be a header's
			}
			n, events = n+1, events+1
		case scan.Aside:
			n++
		}
	}
	if events == 0 && f.wraps {
		return 0, 0
	}
	return n, events
}

// secondAddr returns the second of two addresses with which a line begins.
func secondAddr(line []byte) (netip.Addr, bool) {
	words := bytes.SplitN(line, []byte{' '}, 3)
	if len(words) < 3 {
		return netip.Addr{}, false
	}
	_, ok := scan.AddrMaybePort(words[0])
	second, ok2 := scan.AddrMaybePort(words[1])
	return second, ok && ok2
}

// FirstLines returns the first lines of a block that are not blank, at most so many.
func FirstLines(block []byte, most int) (lines [][]byte) {
	for len(block) > 0 && len(lines) < most {
		line, rest, _ := firstLine(block)
		if len(line) == 0 {
			break
		}
		lines, block = append(lines, line), rest
	}
	return lines
}

// firstLine returns the first line of a block that is not blank, what follows
// it, and its number.
func firstLine(block []byte) (line, rest []byte, n uint64) {
	for len(block) > 0 {
		line, rest, _ = bytes.Cut(block, []byte{'\n'})
		n++
		if line = trim(line); len(line) > 0 && !scan.IsEmpty(line) {
			return line, rest, n
		}
		block = rest
	}
	return nil, nil, n
}

// SyslogPrefix returns the length of what a syslog daemon or a container runtime
// wrote before a line, 0 if there is nothing of that.
func SyslogPrefix(line []byte) int { return scan.SyslogPrefix(line) }
