package logline

import (
	"strings"
	"testing"
	"unicode/utf16"
)

// TestUTF16: a log in UTF-16 of either order, with its mark or without, is called so.
func TestUTF16(t *testing.T) {
	for _, big := range []bool{false, true} {
		for _, mark := range []string{"", "\ufeff"} {
			var text []byte
			for _, c := range utf16.Encode([]rune(mark + strings.Repeat("192.0.2.1 - - [20/Feb/2016:00:00:45 -0500]\r\n", 3))) {
				if big {
					text = append(text, byte(c>>8), byte(c))
				} else {
					text = append(text, byte(c), byte(c>>8))
				}
			}
			if _, err := Detect(text, nil); err == nil || err.Error() != inUTF16 {
				t.Errorf("big endian %v, mark %q: %v", big, mark, err)
			}
			c := Chunk{Text: text}
			formatOf(t, "combined").Parser("log", nil).Parse(&c)
			for _, s := range c.Shown {
				if s.Reason != inUTF16 {
					t.Errorf("big endian %v, mark %q: %s", big, mark, s)
				}
			}
			if len(c.Shown) < 3 {
				t.Errorf("big endian %v, mark %q: %d lines are shown", big, mark, len(c.Shown))
			}
		}
	}
	if isUTF16([]byte("192.0.2.1 - -")) || isUTF16([]byte("a\x00b")) || isUTF16(nil) {
		t.Error("what is not UTF-16 is called so")
	}
}
