package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/config"
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

// TestLogOfUnread: a program beside another that is read is a doubt, and a log without failures is none.
func TestLogOfUnread(t *testing.T) {
	const head = "Nov 22 10:00:00 web-1 "
	for text, want := range map[string]severity{
		head + "sshd[17]: Accepted publickey for bob from 203.0.113.7 port 4711 ssh2\n" + head + "CRON[17]: (root) CMD (true)\n":                 fine,
		head + "sshd[17]: Failed password for bob from 203.0.113.7 port 4711 ssh2\n" + head + "dovecot: imap-login: it failed for 203.0.113.7\n": doubt,
	} {
		file := filepath.Join(t.TempDir(), "auth.log")
		if err := os.WriteFile(file, []byte(strings.Repeat(text, enoughLines)), 0o600); err != nil {
			t.Fatal(err)
		}
		var x examination
		x.log(file, "sshd+dovecot")
		if len(x.findings) == 0 || x.findings[0].Severity != want || (want == doubt) != strings.Contains(x.findings[0].Text, "20 or more lines of dovecot") {
			t.Errorf("%s: %+v", text, x.findings)
		}
	}
}

// TestLogsOfPattern: how many files match is said, none is a doubt, and what is wrong with one is said of it.
func TestLogsOfPattern(t *testing.T) {
	folder := t.TempDir()
	c := &config.Config{}
	c.Sensors.AccessLog = []config.AccessLog{{File: filepath.Join(folder, "own.log"), Format: "json"}, {File: filepath.Join(folder, "*.log"), Format: "combined"}}
	about := "log " + filepath.Join(folder, "*.log")
	examined := func() []finding {
		var x examination
		x.logs(c)
		return x.findings[1:]
	}
	if got := examined(); len(got) != 1 || got[0].Severity != doubt || got[0].About != about || !strings.HasPrefix(got[0].Text, "no file matches") {
		t.Errorf("%+v", got)
	}
	line := `203.0.113.8 - - [28/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "a"` + "\n"
	for name, text := range map[string]string{"a.log": line, "b.log": line, "empty.log": "", "own.log": "{}\n", "evil\n.log": "no line\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "folder.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := examined()
	if len(got) != 2 || got[0].Severity != wrong || got[0].About != "log "+filepath.Join(folder, "evil .log") ||
		got[1] != (finding{fine, about, "4 files match; of the newest, 2 are as the format has it"}) {
		t.Errorf("%+v", got)
	}
}
