package snapshot

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Notes are read as they were written, a file of them has nothing else, and one that
// is too long is refused with the old file in place.
func TestNotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	read := func() (got []string) {
		t.Helper()
		if err := LoadNotes(path, noon, func(text []byte) { got = append(got, string(text)) }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := read(); got != nil {
		t.Fatalf("%q of no file", got)
	}
	want := []string{"one", "", strings.Repeat("x", MaxNote), "\x00\xff"}
	for range 300 { // more than a frame
		want = append(want, strings.Repeat("y", 1000))
	}
	save := func(all []string) error {
		return SaveNotes(path, Cut{Node: "n1", Taken: noon.Add(-time.Second)}, func(yield func([]byte) bool) {
			for _, text := range all {
				if !yield([]byte(text)) {
					return
				}
			}
		})
	}
	if err := save(want); err != nil {
		t.Fatal(err)
	}
	if got := read(); !slices.Equal(got, want) {
		t.Fatalf("%d notes, want %d", len(got), len(want))
	}
	if err := save([]string{strings.Repeat("x", MaxNote+1)}); err == nil {
		t.Error("a note that is too long is written")
	}
	if got := read(); !slices.Equal(got, want) {
		t.Error("the old file is gone")
	}
	if err := LoadNotes(path, noon.Add(-time.Hour), func([]byte) { t.Error("a note") }); !errors.Is(err, errFuture) {
		t.Errorf("of the future: %v", err)
	}
}
