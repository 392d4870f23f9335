package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"edgeguard/cmd/edgeguard/command"
)

// A page that could not be written, as on a full disk, is not a success: the
// lines of a summary are printed without a look at each error.
func TestOutputFails(t *testing.T) {
	var said bytes.Buffer
	e := &command.Env{Stdin: strings.NewReader(""), Stdout: full{}, Stderr: &said}
	if code := run(t.Context(), e, []string{"replay", "../../docs/sample/attack.log.gz"}); code != exitError {
		t.Errorf("it ends with %d, and says %q", code, &said)
	}
	if want := "edgeguard: " + io.ErrShortWrite.Error() + "\n"; said.String() != want {
		t.Errorf("it says %q, want %q", &said, want)
	}
}

// full is a file on a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
