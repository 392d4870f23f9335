package logline

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Skipped is a line that gave no event, or one that lacks fields.
type Skipped struct {
	File   string
	Line   uint64 // from 1; 0 if not known
	Text   string // its beginning, printable
	Reason string
}

// String gives it as file:line: reason: text.
func (s Skipped) String() string {
	if s.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", s.File, s.Reason, s.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", s.File, s.Line, s.Reason, s.Text)
}

// MaxShown is how many skipped lines of a log are kept. They are examples:
// Chunk.Skipped counts all.
const MaxShown = 10

// maxText is how much of a skipped line is shown, in bytes.
const maxText = 160

// NewSkipped makes an example of a line, whose beginning it copies: line is its
// number in the file, 0 if not known.
func NewSkipped(file string, line uint64, text []byte, why string) Skipped {
	return Skipped{File: file, Line: line, Text: printable(text), Reason: why}
}

// printable shortens a line and escapes what a terminal would obey.
func printable(b []byte) string {
	more := ""
	if len(b) > maxText {
		b, more = b[:maxText], "…"
	}
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if strconv.IsPrint(r) && (r != utf8.RuneError || n > 1) {
			s.WriteRune(r)
		} else {
			quoted := strconv.Quote(text(b[:n]))
			s.WriteString(quoted[1 : len(quoted)-1])
		}
		b = b[n:]
	}
	return s.String() + more
}
