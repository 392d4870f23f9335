package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReplayLogins: of a log of failed logins the quick rule counts these. Its
// stamps have no year: it is that of the file's last change.
func TestReplayLogins(t *testing.T) {
	log := filepath.Join(t.TempDir(), "auth.log")
	var text strings.Builder
	for i := range 5 {
		fmt.Fprintf(&text, "Dec 31 23:59:0%d web-1 sshd[7]: Failed password for root from 192.0.2.7 port 4711 ssh2\n", i)
		fmt.Fprintf(&text, "Dec 31 23:59:0%d web-1 CRON[7]: pam_unix(cron:session): session opened for user root by (uid=0)\n", i)
	}
	if err := os.WriteFile(log, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	changed := time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(log, changed, changed); err != nil {
		t.Fatal(err)
	}
	out, errs := replaySaid(t, "replay", "--format", "sshd", "--threshold", "4", log)
	if !strings.Contains(out, "2024-12-31 23:59:04Z  192.0.2.7") || strings.Contains(out+errs, "skipped") {
		t.Errorf("%s\n%s", out, errs)
	}
	// Without a format too: auto finds the service, and the rule counts what it reports.
	out, errs = replaySaid(t, "replay", "--threshold", "4", log)
	if !strings.Contains(out, "over 4 failed logins in 5m") || !strings.Contains(out, "2024-12-31 23:59:04Z  192.0.2.7") {
		t.Errorf("%s\n%s", out, errs)
	}
}
