// Package safetext cleans text that another program wrote before a terminal, a
// log or a list shows it. Whoever can write to the fleet's Redis chooses a
// block's reason, and a terminal acts on what it is sent.
package safetext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean reports whether text is valid UTF-8 and has no control character (C0,
// DEL, C1) and none that changes the direction of the text around it.
func Clean(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, acts) < 0
}

// Plain reports whether text is [Clean] and every character of it is seen. It is for
// what people write: two notes that look the same are the same, and none holds a
// message that only programs read. What nodes send each other is not refused for it: which
// characters are seen can change, and a record that some nodes reject parts their lists.
func Plain(text string) bool {
	if !Clean(text) {
		return false
	}
	before := rune(0)
	for _, r := range text {
		if hidden(before, r) {
			return false
		}
		before = r
	}
	return true
}

// Strip returns text with a space for each tab and line end, a question mark for
// each other character that [Plain] refuses, and U+FFFD for invalid UTF-8.
func Strip(text string) string {
	if Plain(text) {
		return text
	}
	before := rune(0)
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			r = ' '
		case acts(r) || hidden(before, r):
			r = '?'
		}
		before = r
		return r
	}, text)
}

// Cut returns the beginning of text, at most so many bytes, with "…" behind it where that is not
// all of it.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…" // the last character may be half a one
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

// hidden reports whether nothing is seen of r behind another character, 0 at the
// beginning. Joiners belong to emoji and to scripts from Hebrew on, and a selector to the
// character before it.
func hidden(before, r rune) bool {
	const hebrew = 0x590
	switch {
	case r < utf8.RuneSelf:
		return false
	case joins(r):
		return before < hebrew || joins(before)
	case selects(r):
		return before == 0 || joins(before) || selects(before)
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func joins(r rune) bool   { return r == 0x200c || r == 0x200d }
func selects(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f }
