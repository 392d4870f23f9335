// Package sheetcell writes texts as cells of a table that no spreadsheet takes for a
// formula. It reads them back, too.
package sheetcell

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote returns a text that a spreadsheet does not take for a formula. Some skip white
// space before one, and read its signs in full width.
func Quote(text string) string {
	if formula(text) {
		return "'" + text
	}
	return text
}

// Unquote returns the text that Quote made a cell of.
func Unquote(cell string) string {
	if rest, quoted := strings.CutPrefix(cell, "'"); quoted && formula(rest) {
		return rest
	}
	return cell
}

// formula reports whether a spreadsheet could run a text, or the rest of it behind
// apostrophes: such a text is quoted too, so that what is read back is the same.
func formula(text string) bool {
	text = strings.TrimLeft(text, "'")
	blank := func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(text, blank))
	return strings.ContainsRune("=+-@＝＋－＠", first) || text != "" && strings.ContainsRune("\t\r", rune(text[0]))
}
