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

// maxOthers is how many of the lines that were passed over are kept.
const maxOthers = 3

// inUTF16 replaces the reason of a line in UTF-16.
const inUTF16 = "it is UTF-16: convert the log to UTF-8, as by iconv -f UTF-16"

// isUTF16 reports whether a line, whose first zero may be cut off, is text in UTF-16.
func isUTF16(line []byte) bool {
	const marks = "\xff\xfe\xfe\xff"
	if len(line) > 2 && (string(line[:2]) == marks[:2] || string(line[:2]) == marks[2:]) {
		return true
	}
	for i := range min(len(line), 16) {
		if (line[i] == 0) != (i%2 == 1) {
			return false
		}
	}
	return len(line) > 4
}

// NewSkipped makes an example of a line, whose beginning it copies: line is its
// number in the file, 0 if not known.
func NewSkipped(file string, line uint64, text []byte, why string) Skipped {
	return Skipped{File: file, Line: line, Text: scan.Printable(text), Reason: why}
}
