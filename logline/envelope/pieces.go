package envelope

import (
	"slices"

	"edgeguard"
	"edgeguard/logline/entry"
)

// Pieces reads the lines of streams, some of which come in pieces. Of such a line
// only the first piece begins where the server began it: any other may begin with a
// client's text, and is never read as a line.
type Pieces struct {
	Inside entry.LineParser
	open   []piece
	asked  bool // whether Inside has seen the last line
}

// piece is a line of a stream of which more is to come.
type piece struct {
	id   string
	rest entry.Stream // nil where the rest is passed over
}

// maxOpen bounds the lines in pieces. A stream is one of a process: no client can
// open more.
const maxOpen = 64

// Open reports whether more is to come of a line. Only then, and of a line that
// goes on, does the stream matter.
func (p *Pieces) Open() bool { return len(p.open) > 0 }

// Line reads a line of a stream that is whole, or a piece of one; goesOn says that
// more is to come. Before the text of a piece there are head bytes, which are part
// of a line that begins.
func (p *Pieces) Line(line []byte, head int, stream string, goesOn bool, ev *edgeguard.Event) entry.Reason {
	if goesOn || len(p.open) > 0 {
		if i := p.index(stream); i >= 0 {
			return p.goOn(i, line[head:], goesOn, ev)
		}
		if goesOn {
			return p.begin(line, stream, ev)
		}
	}
	if len(line) == 0 {
		return entry.Aside
	}
	p.asked = true
	if len(line) <= entry.MaxLine {
		return p.Inside.Parse(line, ev)
	}
	if h, ok := p.Inside.(entry.HeadParser); ok {
		return h.Head(line[:entry.MaxLine], ev)
	}
	s := p.Inside.(entry.Streamer).Stream()
	s.Feed(line)
	return s.End(ev)
}

// pass notes a piece that cannot be read: what follows it is still no line.
func (p *Pieces) pass(stream string, goesOn bool) {
	if i := p.index(stream); i >= 0 {
		p.open = slices.Delete(p.open, i, i+1)
	}
	if goesOn {
		p.add(piece{id: stream})
	}
}

func (p *Pieces) index(stream string) int {
	return slices.IndexFunc(p.open, func(o piece) bool { return o.id == stream })
}

func (p *Pieces) add(next piece) {
	if len(p.open) == maxOpen {
		p.open = slices.Delete(p.open, 0, 1)
	}
	p.open = append(p.open, next)
}

// begin reads the first piece of a line.
func (p *Pieces) begin(line []byte, stream string, ev *edgeguard.Event) entry.Reason {
	if h, ok := p.Inside.(entry.HeadParser); ok {
		p.add(piece{id: stream})
		p.asked = true
		return h.Head(line[:min(len(line), entry.MaxLine)], ev)
	}
	rest := p.Inside.(entry.Streamer).Stream()
	rest.Feed(line)
	p.add(piece{stream, rest})
	return entry.Aside // its last piece makes the event
}

// goOn reads the next piece of a line.
func (p *Pieces) goOn(i int, text []byte, goesOn bool, ev *edgeguard.Event) entry.Reason {
	rest := p.open[i].rest
	if rest != nil {
		rest.Feed(text)
	}
	if !goesOn {
		p.open = slices.Delete(p.open, i, i+1)
	} else if rest == nil || !rest.Over() {
		return entry.Aside
	} else {
		p.open[i].rest = nil
	}
	if rest == nil {
		return entry.Aside
	}
	return rest.End(ev)
}
