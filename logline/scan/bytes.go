package scan

// IsDigit reports whether c is an ASCII digit.
func IsDigit(c byte) bool { return c-'0' < 10 }

// IsAlnum reports whether c is an ASCII letter or digit.
func IsAlnum(c byte) bool { return IsDigit(c) || (c|0x20)-'a' < 26 }

// IsHex reports whether c is a hexadecimal digit.
func IsHex(c byte) bool { return IsDigit(c) || (c|0x20)-'a' < 6 }

// HexValue returns the value of a hexadecimal digit.
func HexValue(c byte) byte {
	if IsDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// Number reads exactly n digits into to, and returns n, or 0 if they are not all
// there.
func Number(b []byte, n int, to *int) int {
	if len(b) < n {
		return 0
	}
	v := 0
	for _, c := range b[:n] {
		if !IsDigit(c) {
			return 0
		}
		v = v*10 + int(c-'0')
	}
	*to = v
	return n
}

// Digits reads the number at the start of b, of at most so many digits, and returns how many there are.
func Digits(b []byte, most int) (v, n int) {
	for n < len(b) && n < most && IsDigit(b[n]) {
		v = v*10 + int(b[n]-'0')
		n++
	}
	return v, n
}

// SmallNumber reads a number of at most five digits that is all of b.
func SmallNumber(b []byte) (v int, ok bool) {
	if len(b) == 0 || len(b) > 5 {
		return 0, false
	}
	return v, Number(b, len(b), &v) > 0
}

// HasPrefix reports whether b begins with s. The literals between fields are
// nearly all of one to three bytes, for which a call of memequal is dear.
func HasPrefix(b []byte, s string) bool {
	if len(b) < len(s) {
		return false
	}
	switch len(s) {
	case 0:
		return true
	case 1:
		return b[0] == s[0]
	case 2:
		return b[0] == s[0] && b[1] == s[1]
	case 3:
		return b[0] == s[0] && b[1] == s[1] && b[2] == s[2]
	}
	return string(b[:len(s)]) == s
}

// Word cuts the first word off b, with the one blank behind it. Without a blank
// all of b is the word, and ok is false.
func Word(b []byte) (word, rest []byte, ok bool) {
	for i, c := range b {
		if c == ' ' {
			return b[:i], b[i+1:], true
		}
	}
	return b, nil, false
}
