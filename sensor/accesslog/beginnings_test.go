package accesslog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHeads: a copy of a text that was read is known by its beginning, however
// long either was when it was looked at; another file is not.
func TestHeads(t *testing.T) {
	dir := t.TempDir()
	open := func(name, text string) *tail {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := openTail(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.file.Close() })
		return f
	}
	lines := func(from, to int) string {
		var s strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&s, "192.0.2.1 line %d of the log\n", i)
		}
		return s.String()
	}
	var h beginnings
	log := open("log", lines(0, 2))
	h.note(log)
	if !h.has(open("short copy", lines(0, 1))) || !h.has(open("longer copy", lines(0, 50))) {
		t.Error("a copy is not known by two lines")
	}
	os.WriteFile(filepath.Join(dir, "log"), []byte(lines(0, 50)), 0o600)
	h.note(log)
	if len(h) != 1 || len(h[0]) != headSize {
		t.Errorf("%d heads, the first of %d bytes; the longer one is to replace the shorter", len(h), len(h[0]))
	}
	if !h.has(open("copy", lines(0, 50))) {
		t.Error("a copy is not known")
	}
	for name, text := range map[string]string{"empty": "", "another": lines(50, 99), "no line": "192.0.2.1 line"} {
		if h.has(open(name, text)) {
			t.Errorf("%s is taken for a copy", name)
		}
	}
}
