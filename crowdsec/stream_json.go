package crowdsec

import (
	"bufio"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// reader reads JSON a byte at a time. encoding/json holds a text of any length, and a level of
// nesting costs it memory: neither is bounded by what arrives from another's server.
type reader struct {
	in    *bufio.Reader
	left  int64
	kept  [maxText + utf8.UTFMax]byte
	names map[string]string
}

// byte returns the next byte.
func (r *reader) byte() (byte, error) {
	c, err := r.in.ReadByte()
	if err != nil {
		return 0, err
	}
	if r.left--; r.left < 0 {
		return 0, errLarge
	}
	return c, nil
}

// nextByte returns the next byte that is not white space.
func (r *reader) nextByte() (byte, error) {
	for {
		c, err := r.byte()
		if err != nil || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, err
		}
	}
}

func (r *reader) unexpected(c byte) error {
	return fmt.Errorf("it is not the JSON of decisions: unexpected %q", c)
}

// expect reads one byte after white space.
func (r *reader) expect(want byte) error {
	c, err := r.nextByte()
	if err == nil && c != want {
		return r.unexpected(c)
	}
	return err
}

// readLiteral reads the rest of true, false or null.
func (r *reader) readLiteral(rest string) error {
	for i := range len(rest) {
		c, err := r.byte()
		if err != nil {
			return err
		}
		if c != rest[i] {
			return r.unexpected(c)
		}
	}
	return nil
}

// members reads an object whose brace was read, and calls value with each name, to read what
// belongs to it. The name is valid until value reads.
func (r *reader) members(value func(name []byte) error) error {
	return r.list('}', func(c byte) error {
		if c != '"' {
			return r.unexpected(c)
		}
		name, err := r.readText()
		if err != nil {
			return err
		}
		var short [16]byte // names of ours are shorter; text that value reads replaces the other
		n := copy(short[:], name)
		if err := r.expect(':'); err != nil {
			return err
		}
		return value(short[:n])
	})
}

// elements reads a list whose bracket was read, and calls value with the first byte of each.
func (r *reader) elements(value func(first byte) error) error { return r.list(']', value) }

// list reads what commas part until the end.
func (r *reader) list(end byte, value func(first byte) error) error {
	c, err := r.nextByte()
	if err != nil || c == end {
		return err
	}
	for {
		if err := value(c); err != nil {
			return err
		}
		if c, err = r.nextByte(); err != nil || c == end {
			return err
		}
		if c != ',' {
			return r.unexpected(c)
		}
		if c, err = r.nextByte(); err != nil {
			return err
		}
	}
}

// skipValue reads a value that is of no interest, at so many levels below the answer.
func (r *reader) skipValue(depth int) error {
	c, err := r.nextByte()
	if err != nil {
		return err
	}
	return r.skipFrom(c, depth)
}

func (r *reader) skipFrom(c byte, depth int) error {
	if depth >= maxDepth {
		return errDeep
	}
	switch c {
	case '"':
		_, err := r.readText()
		return err
	case '{':
		return r.members(func([]byte) error { return r.skipValue(depth + 1) })
	case '[':
		return r.elements(func(c byte) error { return r.skipFrom(c, depth+1) })
	case 't':
		return r.readLiteral("rue")
	case 'f':
		return r.readLiteral("alse")
	case 'n':
		return r.readLiteral("ull")
	}
	return r.number(c)
}

// number reads a number and leaves what follows it.
func (r *reader) number(c byte) error {
	if c != '-' && (c < '0' || c > '9') {
		return r.unexpected(c)
	}
	for {
		c, err := r.byte()
		if err != nil {
			return err
		}
		switch {
		case c >= '0' && c <= '9', c == '.', c == 'e', c == 'E', c == '+', c == '-':
		default:
			r.left++
			return r.in.UnreadByte()
		}
	}
}

// readText reads a text whose quote was read. It returns its first MaxText bytes, which are valid
// until the next call.
func (r *reader) readText() ([]byte, error) {
	n := 0
	for {
		c, err := r.byte()
		if err != nil {
			return nil, err
		}
		switch {
		case c == '"':
			return r.kept[:min(n, maxText)], nil
		case c < ' ':
			return nil, r.unexpected(c)
		case c == '\\':
			char, err := r.escape()
			if err != nil {
				return nil, err
			}
			if n < maxText {
				n += utf8.EncodeRune(r.kept[n:], char)
			}
		case n < maxText:
			r.kept[n] = c
			n++
		}
	}
}

// escape reads what follows a backslash.
func (r *reader) escape() (rune, error) {
	c, err := r.byte()
	if err != nil {
		return 0, err
	}
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return r.hex()
	}
	return 0, r.unexpected(c)
}

// hex reads the digits of \u, and the second half of a character that takes two. A half
// without its other is U+FFFD.
func (r *reader) hex() (rune, error) {
	first, err := r.digits()
	if err != nil || !utf16.IsSurrogate(first) {
		return first, err
	}
	if next, err := r.in.Peek(2); err != nil || next[0] != '\\' || next[1] != 'u' {
		return utf8.RuneError, nil // an error is found by the next read
	}
	_, _ = r.in.Discard(2) // which Peek has seen
	if r.left -= 2; r.left < 0 {
		return 0, errLarge
	}
	second, err := r.digits()
	return utf16.DecodeRune(first, second), err
}

func (r *reader) digits() (rune, error) {
	var v rune
	for range 4 {
		c, err := r.byte()
		if err != nil {
			return 0, err
		}
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = v<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, r.unexpected(c)
		}
	}
	return v, nil
}
