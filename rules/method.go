package rules

// methodRoom is the longest method that is made upper: longer than any that a
// server knows.
const methodRoom = 64

// plainMethod reports whether a method is in normal form already, as
// nearly all are: in upper case. HTTP tells "post" from "POST", but programs
// behind a server that passes both on do not (Django makes upper case of all),
// and no honest client sends the former.
func plainMethod(method string) bool {
	switch method {
	case "GET", "POST", "HEAD":
		return true
	}
	for i := 0; i < len(method); i++ {
		if c := method[i]; 'a' <= c && c <= 'z' {
			return len(method) > methodRoom
		}
	}
	return true
}

// lengths is a set of texts' lengths, a bit each; the last bit is for all that are
// longer.
type lengths uint64

func lengthsOf(texts []string) (l lengths) {
	for _, text := range texts {
		l |= 1 << min(len(text), 63)
	}
	return l
}

// has reports whether a text of this length is in the set.
func (l lengths) has(text string) bool { return l>>min(len(text), 63)&1 != 0 }

// appendUpper appends s with its lower-case ASCII letters made upper.
func appendUpper(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'a' <= c && c <= 'z' {
			c &^= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}
