package scan

import "edgeguard"

// maxWhole is the longest line that [Whole] keeps.
const maxWhole = 1 << 20

// Whole is the stream of a parser that needs a line as a whole, however long: it
// keeps the pieces. Only lines that are longer than a chunk cost that memory.
type Whole struct {
	parser LineParser
	line   []byte
	over   bool
}

// NewWhole begins such a line.
func NewWhole(p LineParser) *Whole {
	return &Whole{parser: p}
}

// Feed implements [Stream].
func (w *Whole) Feed(piece []byte) {
	if len(w.line)+len(piece) > maxWhole {
		w.over = true
	}
	if !w.over {
		w.line = append(w.line, piece...)
	}
}

// Over implements [Stream].
func (w *Whole) Over() bool { return w.over }

// End implements [Stream].
func (w *Whole) End(ev *edgeguard.Event) Reason {
	if w.over {
		return OverWhole
	}
	return ParseLine(w.parser, w.line, ev)
}
