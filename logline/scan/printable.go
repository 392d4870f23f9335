package scan

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"edgeguard/internal/unsafetext"
)

// MaxPrintable is how much of a line [Printable] shows, in bytes.
const MaxPrintable = 160

// Printable shortens a line and escapes what a terminal would obey.
func Printable(b []byte) string {
	more := ""
	if len(b) > MaxPrintable {
		b, more = b[:MaxPrintable], "…"
	}
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if strconv.IsPrint(r) && (r != utf8.RuneError || n > 1) {
			s.WriteRune(r)
		} else {
			quoted := strconv.Quote(unsafetext.String(b[:n]))
			s.WriteString(quoted[1 : len(quoted)-1])
		}
		b = b[n:]
	}
	return s.String() + more
}
