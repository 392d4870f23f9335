package formats

import (
	"slices"

	"edgeguard"
	"edgeguard/logline/scan"
)

// EnvelopePieces reads the lines of streams, some of which come in pieces. Of such a line
// only the first piece begins where the server began it: any other may begin with a
// client's text, and is never read as a line.
type EnvelopePieces struct {
	Inside scan.LineParser
	open   []piece
	asked  bool // whether Inside has seen the last line
}

// piece is a line of a stream of which more is to come.
type piece struct {
	id   string
	rest scan.Stream // nil where the rest is passed over
}

// maxOpen bounds the lines in pieces. A stream is one of a process: no client can
// open more.
const maxOpen = 64

// Open reports whether more is to come of a line. Only then, and of a line that
// goes on, does the stream matter.
func (p *EnvelopePieces) Open() bool { return len(p.open) > 0 }

// Line reads a line of a stream that is whole, or a piece of one; goesOn says that
// more is to come. Before the text of a piece there are head bytes, which are part
// of a line that begins.
func (p *EnvelopePieces) Line(line []byte, head int, stream string, goesOn bool, ev *edgeguard.Event) scan.Reason {
	if goesOn || len(p.open) > 0 {
		if i := p.index(stream); i >= 0 {
			return p.goOn(i, line[head:], goesOn, ev)
		}
		if goesOn {
			return p.begin(line, stream, ev)
		}
	}
	if line = line[scan.AfterMark(line, 0):]; len(line) == 0 {
		return scan.Aside
	}
	p.asked = true
	if len(line) > scan.MaxLine {
		return scan.ParseLong(p.Inside, line, ev)
	}
	return scan.ParseLine(p.Inside, line, ev)
}

// pass notes a piece that cannot be read: what follows it is still no line.
func (p *EnvelopePieces) pass(stream string, goesOn bool) {
	if i := p.index(stream); i >= 0 {
		p.open = slices.Delete(p.open, i, i+1)
	}
	if goesOn {
		p.add(piece{id: stream})
	}
}

func (p *EnvelopePieces) index(stream string) int {
	return slices.IndexFunc(p.open, func(o piece) bool { return o.id == stream })
}

func (p *EnvelopePieces) add(next piece) {
	if len(p.open) == maxOpen {
		p.open = slices.Delete(p.open, 0, 1)
	}
	p.open = append(p.open, next)
}

// begin reads the first piece of a line.
func (p *EnvelopePieces) begin(line []byte, stream string, ev *edgeguard.Event) scan.Reason {
	if h, ok := p.Inside.(scan.HeadParser); ok {
		p.add(piece{id: stream})
		p.asked = true
		return scan.ParseHead(p.Inside, h, line[:min(len(line), scan.MaxLine)], ev)
	}
	rest := p.Inside.(scan.Streamer).Stream()
	rest.Feed(line)
	p.add(piece{stream, rest})
	return scan.Aside // its last piece makes the event
}

// goOn reads the next piece of a line.
func (p *EnvelopePieces) goOn(i int, text []byte, goesOn bool, ev *edgeguard.Event) scan.Reason {
	rest := p.open[i].rest
	if rest != nil {
		rest.Feed(text)
	}
	if !goesOn {
		p.open = slices.Delete(p.open, i, i+1)
	} else if rest == nil || !rest.Over() {
		return scan.Aside
	} else {
		p.open[i].rest = nil
	}
	if rest == nil {
		return scan.Aside
	}
	return rest.End(ev)
}
