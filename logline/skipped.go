package logline

import (
	"fmt"

	"edgeguard/logline/scan"
)

// Skipped is a line that gave no event, or one that lacks fields.
type Skipped struct {
	File   string
	Line   uint64 // from 1; 0 if not known
	Text   string // its beginning, printable
	Reason string
}

// String returns it as file:line: reason: text.
func (s Skipped) String() string {
	if s.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", s.File, s.Reason, s.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", s.File, s.Line, s.Reason, s.Text)
}

// MaxShown is how many skipped lines of a log are kept. They are examples:
// Chunk.Skipped counts all.
const MaxShown = 10

// NewSkipped makes an example of a line, whose beginning it copies: line is its
// number in the file, 0 if not known.
func NewSkipped(file string, line uint64, text []byte, why string) Skipped {
	return Skipped{File: file, Line: line, Text: scan.Printable(text), Reason: why}
}
