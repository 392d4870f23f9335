package logline

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxText is how much of a line is shown, in bytes.
const maxText = 160

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
