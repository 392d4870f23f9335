package logline

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/logline/formats"
	"edgeguard/logline/pattern"
	"edgeguard/logline/scan"
)

const (
	// serviceSample is how many of a file's first lines decide which service wrote it:
	// most of them say nothing of a client.
	serviceSample = 1000
	// enoughLines is how many of them a service must read. One, or two, may be a
	// client's text in another program's log.
	enoughLines = 3
)

// candidate is a service that reads lines of a log.
type candidate struct {
	name   string
	reads  []int // the lines
	header int   // how many of them have a header that names the program
}

// detectServices finds the service whose lines these are, or several, joined by +. It is
// nil if there is none. A client writes into the lines of a log, and must not choose its
// format. So either most lines are behind a header of syslog, and the header of those that
// are read names the service's own program; or the service reads most lines.
//
// The error names two services that read the same lines, or one that reads some lines.
func detectServices(block []byte, zone *time.Location) (*Format, error) {
	lines := FirstLines(block, serviceSample)
	all, headed := candidates(lines, zone)
	var chosen []candidate
	for _, c := range all {
		byHeader := c.header >= enoughLines && c.header == len(c.reads) && 2*headed >= len(lines)
		if byHeader || len(c.reads) >= enoughLines && 2*len(c.reads) >= len(lines) {
			chosen = append(chosen, c)
		}
	}
	// What several programs share is counted by their own services.
	if own := slices.DeleteFunc(slices.Clone(chosen), func(c candidate) bool { return pattern.Shared(c.name) }); len(own) > 0 {
		chosen = own
	}
	var names []string
	for i, c := range chosen {
		for _, other := range chosen[:i] {
			if slices.ContainsFunc(c.reads, func(line int) bool { return slices.Contains(other.reads, line) }) {
				return nil, fmt.Errorf("its lines may be of %s or of %s: say which with --format %s", other.name, c.name, other.name)
			}
		}
		names = append(names, c.name)
	}
	if len(names) > 0 {
		return ParseFormat(joined(names))
	}
	if len(all) > 0 {
		return nil, fmt.Errorf("%d of %d lines read as %s, which is too few to be sure: if they are, say so with --format %s",
			len(all[0].reads), len(lines), all[0].name, all[0].name)
	}
	return nil, nil
}

// inJSON returns the service whose JSON the lines are, nil if they are requests or no
// service's.
func inJSON(lines [][]byte, zone *time.Location) *Format {
	p := named("json").start(zone)
	for _, line := range lines {
		var ev edgeguard.Event
		if scan.ParseLine(p, bytes.Clone(line), &ev) == scan.Read && ev.Known&(edgeguard.FieldPath|edgeguard.FieldMethod) != 0 {
			return nil
		}
	}
	for _, name := range pattern.ServiceNames() {
		if pattern.ServicePaths(name) == "" {
			continue
		}
		if c := read(name, lines, zone); len(c.reads) >= enoughLines {
			f, _ := ParseFormat(name)
			return f
		}
	}
	return nil
}

// joined returns the format of several services. Those in envelopes are all in the same.
func joined(names []string) string {
	for i, name := range names[1:] {
		if _, inside, found := strings.Cut(name, ":"); found {
			names[i+1] = inside
		}
	}
	return strings.Join(names, "+")
}

// candidates returns the services that read lines, the one that reads most first, and how
// many lines are behind a header of syslog.
func candidates(lines [][]byte, zone *time.Location) (all []candidate, headed int) {
	for _, line := range lines {
		if scan.Container(line) == 0 && scan.SyslogPrefix(line) > 0 {
			headed++ // behind what a container's runtime writes, a program may print what clients send
		}
	}
	if all = readAll("", lines, zone); len(all) == 0 {
		if envelope := envelopeOf(lines, zone); envelope != "" {
			all = readAll(envelope, lines, zone)
			if name, _, _ := strings.Cut(envelope, ":"); formats.FindEnvelope(name).NamesProgram() {
				headed = len(lines) // the others hold what programs print, and clients may begin that
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return len(b.reads) - len(a.reads) })
	return all, headed
}

// readAll reads the lines in an envelope as each service does, and returns those that read
// some.
func readAll(envelope string, lines [][]byte, zone *time.Location) (all []candidate) {
	for _, name := range pattern.ServiceNames() {
		if c := read(envelope+name, lines, zone); len(c.reads) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// envelopeOf returns the envelope that most of the first lines are in, such as docker: with
// its colon, empty if they are in none.
func envelopeOf(lines [][]byte, zone *time.Location) string {
	lines = lines[:min(len(lines), sample)]
	for _, form := range formats.Envelopes {
		p, in := form.Wrap(func(*time.Location) scan.LineParser { return nobody{} })(zone), 0
		for _, line := range lines {
			if scan.ParseLine(p, bytes.Clone(line), &edgeguard.Event{}) == scan.Aside {
				in++
			}
		}
		if 2*in >= len(lines) {
			return form.Name + ":"
		}
	}
	return ""
}

// nobody reads no line.
type nobody struct{}

// Parse implements [scan.LineParser].
func (nobody) Parse([]byte, *edgeguard.Event) scan.Reason { return scan.Aside }

// Head implements [scan.HeadParser].
func (nobody) Head([]byte, *edgeguard.Event) scan.Reason { return scan.Aside }

// Sure implements [scan.LineParser].
func (nobody) Sure() netip.Addr { return netip.Addr{} }

// read reads all lines as a service does.
func read(name string, lines [][]byte, zone *time.Location) candidate {
	c := candidate{name: name}
	f, err := ParseFormat(name)
	if err != nil {
		return c // an envelope of JSON
	}
	p := f.start(zone)
	if d, ok := p.(scan.Dated); ok {
		d.SetLatest(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)) // which year it is does not matter
	}
	for i, line := range lines {
		var ev edgeguard.Event
		if len(line) > MaxLine || scan.ParseLine(p, bytes.Clone(line), &ev) != scan.Read {
			continue
		}
		c.reads = append(c.reads, i)
		if h, ok := p.(scan.Headed); ok && h.ByHeader() {
			c.header++
		}
	}
	return c
}
