package scan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Unescape undoes the escapes of Apache and nginx (\" \\ \t \xhh) and of JSON
// (\/ \uhhhh), in place: what comes out is never longer. An escape that is
// none stays as it is.
func Unescape(b []byte) []byte {
	r := bytes.IndexByte(b, '\\')
	if r < 0 {
		return b
	}
	w := r
	for r < len(b) {
		if b[r] != '\\' || r+1 == len(b) {
			b[w] = b[r]
			r, w = r+1, w+1
			continue
		}
		size, width := unescapeOne(b[r:], b[w:])
		r, w = r+size, w+width
	}
	return b[:w]
}

// unescapeOne reads the escape at the start of from, and writes its meaning to
// to, which may be the same memory or lie before it.
func unescapeOne(from, to []byte) (size, width int) {
	c := from[1]
	switch c {
	case 'x':
		if len(from) >= 4 && IsHex(from[2]) && IsHex(from[3]) {
			to[0] = HexValue(from[2])<<4 | HexValue(from[3])
			return 4, 1
		}
	case 'u':
		if r, n := unicodeEscape(from); n > 0 {
			return n, utf8.EncodeRune(to, r)
		}
	case '"', '\\', '/', '\'':
		to[0] = c
		return 2, 1
	case 'b', 'f', 'n', 'r', 't', 'v':
		to[0] = controls[c]
		return 2, 1
	}
	to[0] = '\\'
	return 1, 1
}

var controls = [...]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// unicodeEscape reads \uhhhh, or the two that make a surrogate pair.
func unicodeEscape(b []byte) (r rune, size int) {
	r, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex4(b[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		if !IsHex(c) {
			return 0, false
		}
		r = r<<4 | rune(HexValue(c))
	}
	return r, true
}

// QuoteEnd returns the index of the first quote in b from i that no backslash
// escapes, or -1.
func QuoteEnd(b []byte, i int) int {
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		if i += n; i == 0 || b[i-1] != '\\' {
			return i
		}
		back := i
		for back > 0 && b[back-1] == '\\' {
			back--
		}
		if (i-back)%2 == 0 {
			return i
		}
		i++
	}
}
