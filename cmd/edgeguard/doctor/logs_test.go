package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogOfNothing: a log of which nothing is counted is a doubt, with examples, once there are
// lines enough to tell.
func TestLogOfNothing(t *testing.T) {
	const other = "[11/27/2026, 10:00:00 AM] nothing that is known"
	for lines, want := range map[int]severity{enoughLines - 1: fine, enoughLines: doubt} {
		file := filepath.Join(t.TempDir(), "app.log")
		if err := os.WriteFile(file, []byte(strings.Repeat(other+"\n", lines)), 0o600); err != nil {
			t.Fatal(err)
		}
		var x examination
		x.log(file, "vaultwarden")
		if len(x.findings) != 1 || x.findings[0].Severity != want || (want == doubt) != (strings.Count(x.findings[0].Text, other) == 3) {
			t.Errorf("%d lines: %+v", lines, x.findings)
		}
	}
}
