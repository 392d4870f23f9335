package logline

func isDigit(c byte) bool { return c-'0' < 10 }

func isAlnum(c byte) bool { return isDigit(c) || (c|0x20)-'a' < 26 }

func isHex(c byte) bool { return isDigit(c) || (c|0x20)-'a' < 6 }

// hex gives the value of a hexadecimal digit.
func hex(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// number reads exactly n digits.
func number(b []byte, n int, to *int) int {
	if len(b) < n {
		return 0
	}
	v := 0
	for _, c := range b[:n] {
		if !isDigit(c) {
			return 0
		}
		v = v*10 + int(c-'0')
	}
	*to = v
	return n
}

func smallNumber(b []byte) (v int, ok bool) {
	if len(b) == 0 || len(b) > 5 {
		return 0, false
	}
	return v, number(b, len(b), &v) > 0
}

// hasPrefix reports whether b begins with s. The literals between fields are
// nearly all of one to three bytes, for which a call of memequal is dear.
func hasPrefix(b []byte, s string) bool {
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
