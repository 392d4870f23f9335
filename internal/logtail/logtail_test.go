package logtail_test

import (
	"strings"
	"testing"

	"edgeguard/internal/logtail"
)

// Opening what is no file is tested beside edgeguard setup.
func TestLast(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 8192) // 128 KiB
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", ""},
		"lines":            {"one\ntwo\n", "one\ntwo\n"},
		"the last is half": {"one\ntw", "one\n"},
		"no whole line":    {"one", ""},
		"long":             {long, long[:64<<10-16]},
		"one long line":    {strings.Repeat("x", 100<<10), ""},
	} {
		got, err := logtail.Last(strings.NewReader(c.text), int64(len(c.text)))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}
