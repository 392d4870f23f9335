// Package safetext cleans text that another program wrote before a terminal, a
// log or a list shows it. Whoever can write to the fleet's Redis chooses a
// block's reason, and a terminal acts on what it is sent.
package safetext

import (
	"strings"
	"unicode/utf8"
)

// Clean reports whether text is valid UTF-8 and has no control character (C0,
// DEL, C1) and none that changes the direction of the text around it.
func Clean(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, acts) < 0
}

// Strip returns text with a space for each tab and line end, a question mark for
// each other character that [Clean] refuses, and U+FFFD for invalid UTF-8.
func Strip(text string) string {
	if Clean(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case acts(r):
			return '?'
		}
		return r
	}, text)
}

// Lines returns text with each of its lines stripped.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Strip(line)
	}
	return strings.Join(lines, "\n")
}

// acts reports whether a terminal acts on r or shows it elsewhere: a reason in
// which U+202E stands is read backwards.
func acts(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r <= 0x9f:
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}
