package formats

import (
	"bytes"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/logline/scan"
)

// w3cParser reads the rows of one file by the last #Fields line.
//
// The columns are separated by tabs (CloudFront) or by blanks (IIS), which neither
// server writes inside a column. A row must have exactly the columns that are
// named: then no text of a client can move the address.
type w3cParser struct {
	layout w3cLayout
	scan.Clock
	addr  netip.Addr // of the last line
	value [columns]span
}

// span is where a value is in the line. That of a column that the row does not
// have is empty.
type span struct{ from, to int }

func (s span) of(line []byte) []byte { return line[s.from:s.to] }

const (
	w3cFields = "#Fields:"

	notColumns scan.Reason = "more or fewer columns than the #Fields line before it names"
)

// NewW3C returns the parser of one log in the W3C's extended format. Its times are in UTC.
func NewW3C(*time.Location) scan.LineParser {
	return &w3cParser{layout: w3cLayout{why: noFields}, Clock: scan.Clock{Zone: time.UTC}}
}

// Parser returns the parser of one log, whose first rows have these columns.
func (c *W3CColumns) Parser(*time.Location) scan.LineParser {
	return &w3cParser{layout: c.layout, Clock: scan.Clock{Zone: time.UTC}}
}

func (p *w3cParser) Sure() netip.Addr { return p.addr }

// Stream keeps a long row: only its end shows that no column is missing.
func (p *w3cParser) Stream() scan.Stream { return scan.NewWhole(p) }

func (p *w3cParser) Parse(line []byte, ev *edgeguard.Event) scan.Reason {
	p.addr = netip.Addr{}
	if scan.HasPrefix(line, "#") {
		if scan.HasPrefix(line, w3cFields) {
			p.layout = parseW3CLayout(string(line[len(w3cFields):]))
		}
		return scan.Aside
	}
	if p.layout.why != scan.Read {
		return p.layout.why
	}
	sep := w3cSeparator(line)
	if !p.split(line, sep) {
		return notColumns
	}
	f := scan.Fields{Raw: true}
	client := p.value[scan.PartAddr].of(line)
	addr, n, ok := scan.AddrAt(client)
	if !ok || n != len(client) {
		return scan.BadAddr
	}
	f.Addr, p.addr = addr, addr
	if f.At, ok = p.instant(line); !ok {
		return scan.BadTime
	}
	f.Set(scan.PartStatus, p.value[scan.PartStatus].of(line))
	f.Set(scan.PartPort, p.value[scan.PartPort].of(line))
	p.texts(&f, line, sep)
	return f.Event(ev)
}

// w3cSeparator returns what separates the columns of a row. It follows the first
// column, which the server writes.
func w3cSeparator(line []byte) byte {
	for _, c := range line {
		if c == ' ' || c == '\t' {
			return c
		}
	}
	return ' '
}

// split finds the values, and reports whether the row has all columns and no more.
func (p *w3cParser) split(line []byte, sep byte) bool {
	p.value = [columns]span{}
	at, last := 0, len(p.layout.columns)-1
	for i, c := range p.layout.columns {
		n := bytes.IndexByte(line[at:], sep)
		if (n < 0) != (i == last) {
			return false
		}
		if n < 0 {
			n = len(line) - at
		}
		p.value[c] = span{at, at + n}
		at += n + 1
	}
	return true
}

// instant returns the row's time, which is in UTC.
func (p *w3cParser) instant(line []byte) (scan.Instant, bool) {
	if v := p.value[colMillis].of(line); len(v) > 0 {
		t, n, ok := scan.UnixNumber(v, 1e3)
		return t, ok && n == len(v)
	}
	if v := p.value[colSeconds].of(line); len(v) > 0 {
		t, n, ok := scan.UnixNumber(v, 1)
		return t, ok && n == len(v)
	}
	day, clock := p.value[colDate].of(line), p.value[colTime].of(line)
	var stamp [32]byte
	if len(day) != len("2006-01-02") || len(day)+len(clock)+2 > len(stamp) {
		return scan.Instant{}, false
	}
	b := append(append(append(stamp[:0], day...), 'T'), clock...)
	b = append(b, 'Z')
	t, n, ok := p.Clock.ISO(b)
	return t, ok && n == len(b)
}

// texts keeps what a client wrote. CloudFront writes it percent-encoded, IIS a blank
// as a plus.
func (p *w3cParser) texts(f *scan.Fields, line []byte, sep byte) {
	target := p.target(line) // first: it moves values
	decoded := func(c scan.LinePart) []byte {
		b := p.value[c].of(line)
		if sep == '\t' {
			return unpercent(b)
		}
		return b
	}
	f.SetMethod(p.value[scan.PartMethod].of(line))
	if sep == '\t' {
		target = unpercent(target)
	}
	f.SetPath(target)
	if host := decoded(colSentHost); len(host) > 0 && string(host) != "-" {
		f.SetHost(host)
	} else if host = decoded(scan.PartHost); len(host) > 0 {
		f.SetHost(host)
	}
	if agent := decoded(scan.PartAgent); len(agent) > 0 {
		if sep == ' ' {
			unplus(agent)
		}
		f.SetAgent(agent)
	}
	if referer := decoded(scan.PartReferer); len(referer) > 0 {
		f.SetReferer(referer)
	}
	if node := p.value[scan.PartNode].of(line); len(node) > 0 {
		f.Set(scan.PartNode, node)
	}
}

// target returns the path with its query. They may be columns apart: then the path
// changes places with what lies between them, so that nothing is copied elsewhere.
func (p *w3cParser) target(line []byte) []byte {
	stem, query := p.value[colStem], p.value[colQuery]
	if p.value[colURI].to > 0 {
		return p.value[colURI].of(line)
	}
	if q := query.of(line); len(q) == 0 || string(q) == "-" || query.from < stem.to || stem.to == 0 {
		return stem.of(line)
	}
	size := stem.to - stem.from + 1 // with its separator
	if between := line[stem.from:query.from]; size < len(between) {
		reverse(between[:size])
		reverse(between[size:])
		reverse(between)
		for c := range p.value {
			if v := &p.value[c]; v.from > stem.from && v.to < query.from {
				v.from, v.to = v.from-size, v.to-size
			}
		}
	}
	line[query.from-1] = '?'
	return line[query.from-size : query.to]
}

func reverse(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

// unpercent undoes %hh, in place.
func unpercent(b []byte) []byte {
	r := bytes.IndexByte(b, '%')
	if r < 0 {
		return b
	}
	w := r
	for ; r < len(b); r, w = r+1, w+1 {
		b[w] = b[r]
		if b[r] == '%' && r+2 < len(b) && scan.IsHex(b[r+1]) && scan.IsHex(b[r+2]) {
			b[w] = scan.HexValue(b[r+1])<<4 | scan.HexValue(b[r+2])
			r += 2
		}
	}
	return b[:w]
}

func unplus(b []byte) {
	for i, c := range b {
		if c == '+' {
			b[i] = ' '
		}
	}
}
