package main

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"

	"edgeguard/internal/safetext"
)

// A page that could not be written, as on a full disk, is not a success: the
// lines of a summary are printed without a look at each error.
func TestOutputFails(t *testing.T) {
	var said bytes.Buffer
	e := &env{stdin: strings.NewReader(""), stdout: full{}, stderr: &said}
	if code := run(t.Context(), e, []string{"replay", "../../docs/sample/attack.log.gz"}); code != exitError {
		t.Errorf("it ends with %d, and says %q", code, &said)
	}
	if want := "edgeguard: " + io.ErrShortWrite.Error() + "\n"; said.String() != want {
		t.Errorf("it says %q, want %q", &said, want)
	}
}

// A line of the log shows what another node hid in a reason.
func TestLogHidesNothing(t *testing.T) {
	var said bytes.Buffer
	slog.New(newLogHandler(&env{stderr: &said})).Info("blocked", "reason", "a\u200bb\u202ec\U000e0041\x1b")
	if text := said.String(); !safetext.Plain(strings.TrimSuffix(text, "\n")) || !strings.Contains(text, `\u200b`) || !strings.Contains(text, `\U000e0041`) {
		t.Errorf("%q", text)
	}
}

// full is a file on a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
