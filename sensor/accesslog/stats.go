package accesslog

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Stats says how far a reader is and what it has passed over.
type Stats struct {
	Lines   uint64 // read so far, blank ones and a header included
	Events  uint64 // handed over
	Skipped uint64 // lines that gave no event, blank ones and a header not counted
	First   []Skipped
	// Read is how many bytes of the file were read, compressed as they are;
	// Total its size, 0 where there is none (standard input).
	Read, Total int64
}

// Skipped is a line that gave no event.
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

const (
	maxShown = 10 // of each file; they are examples, Stats.Skipped counts all
	maxText  = 160
)

func newSkipped(file string, line uint64, text []byte, why reason) Skipped {
	return Skipped{File: file, Line: line, Text: printable(text), Reason: string(why)}
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
