package logline

import (
	"strings"
	"testing"
	"time"
)

// TestUnread: a program of which no line is understood is named, also beside one that is; a log without failures is
// quiet, and one of other programs alone is not for long.
func TestUnread(t *testing.T) {
	const (
		head    = "Nov 22 10:00:00 web-1 "
		cron    = head + "CRON[17]: (root) CMD (run-parts /etc/cron.hourly)\n"
		login   = head + "sshd[17]: Accepted publickey for bob from 203.0.113.7 port 4711 ssh2: ED25519 SHA256:abc\n"
		offer   = head + "sshd[17]: Failed publickey for bob from 203.0.113.7 port 4711 ssh2: ED25519 SHA256:abc\n"
		failed  = head + "sshd[17]: Failed password for root from 203.0.113.7 port 4711 ssh2\n"
		strange = head + "sshd[17]: A password of root has failed at 203.0.113.7\n"
		dovecot = head + "dovecot: imap-login: auth failed of a form that is not known, of 203.0.113.7\n"
		gitea   = "2026/11/22 10:00:00 cmd/web.go:242:runWeb() [I] Starting Gitea on PID: 7\n"
		gitea2  = "2026/11/22 10:00:00 auth.go:208 failed of a form that is not known: 203.0.113.7\n"
	)
	for _, test := range []struct {
		name, format, text string
		quiet              uint64
		unread             string
	}{
		{"a log without failures", "sshd", strings.Repeat(login+cron+offer, 50), 150, ""},
		{"other programs alone", "sshd", strings.Repeat(cron, 1100), 1000, ""},
		{"another file", "sshd", strings.Repeat("203.0.113.7 - - [22/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 1\n", 50), 0, ""},
		{"failures of another form", "sshd", strings.Repeat(cron+strange, 20), 20, "sshd"},
		{"too few to tell", "sshd", strings.Repeat(strange, 19), 0, ""},
		{"once understood", "sshd", failed + strings.Repeat(strange, 50), 50, ""},
		{"one of two", "sshd+dovecot", strings.Repeat(failed+dovecot, 20), 0, "dovecot"},
		{"in journald's envelope", "journald:sshd+dovecot", strings.Repeat(`{"__REALTIME_TIMESTAMP":"1795341600000000","SYSLOG_IDENTIFIER":"dovecot","MESSAGE":"imap-login: auth failed: 203.0.113.7"}`+"\n", 20), 0, "dovecot"},
		{"no header names it", "gitea", strings.Repeat(gitea+gitea2, 20), 0, "gitea"},
		{"shared lines", "sshd+pam", strings.Repeat(failed+head+"sudo: 3 incorrect password attempts\n", 30), 30, ""},
		{"another program's header", "sshd+gitea", strings.Repeat(failed+head+"cron[17]: failed\n", 30), 30, ""},
	} {
		f, err := ParseFormat(test.format)
		if err != nil {
			t.Fatal(err)
		}
		p := f.Parser("", time.UTC)
		p.SetLatest(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
		var unread string
		var quiet uint64
		for piece := range strings.SplitAfterSeq(test.text, "\n") {
			c := Chunk{Text: []byte(piece)}
			p.Parse(&c)
			quiet += c.Quiet
			unread = ""
			for _, u := range c.Unread {
				unread += u.Program
				if u.Lines < 20 || u.Example == "" || !strings.Contains(test.text, u.Example[:20]) {
					t.Errorf("%s: %+v", test.name, u)
				}
			}
		}
		if quiet != test.quiet || unread != test.unread {
			t.Errorf("%s: %d lines are quiet, want %d; not understood are %q, want %q", test.name, quiet, test.quiet, unread, test.unread)
		}
	}
}
