package logline

import (
	"fmt"
	"strings"
	"testing"

	"edgeguard/internal/fulltest"
	"edgeguard/logline/pattern"
)

// quietLines are lines of an auth.log that say nothing of a client.
const quietLines = `Nov 22 10:00:00 web-1 CRON[9]: pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)
Nov 22 10:00:01 web-1 sshd[17]: Accepted publickey for bob from 192.0.2.7 port 4711 ssh2: ED25519 SHA256:abc
Nov 22 10:00:01 web-1 systemd-logind[8]: New session 3 of user bob.
Nov 22 10:00:02 web-1 sudo:      bob : TTY=pts/0 ; PWD=/home/bob ; USER=root ; COMMAND=/usr/bin/id
`

// served are lines of a service.
func served(name string, n int) string {
	var s strings.Builder
	for i := range n {
		line := serviceLines[name][i%len(serviceLines[name])]
		s.WriteString(strings.NewReplacer("ADDR", fmt.Sprint("192.0.2.", i+1), "USER USER", "USER bob", "USER_AUTH", "USER_AUTH", "USER", "bob", "QUOTED", "bob").Replace(line) + "\n")
	}
	return s.String()
}

// TestDetectServices finds each service by a log of its lines alone.
func TestDetectServices(t *testing.T) {
	for _, name := range pattern.ServiceNames() {
		want := name
		f, err := Detect([]byte(served(name, 10)), nil)
		if err != nil || f.String() != want {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

// TestDetectAmongOthers finds services by few lines among many others, by the program that the
// header of syslog names; several are joined.
func TestDetectAmongOthers(t *testing.T) {
	quiet := strings.Repeat(quietLines, 30)
	inJournal := func(text string) string {
		var s strings.Builder
		for line := range strings.Lines(text) {
			_, message, _ := strings.Cut(line, ": ")
			fmt.Fprintf(&s, `{"MESSAGE":%q,"SYSLOG_IDENTIFIER":"sshd","__REALTIME_TIMESTAMP":"1795341600000000"}`+"\n", strings.TrimSpace(message))
		}
		return s.String()
	}
	inDocker := func(text string) string {
		var s strings.Builder
		for line := range strings.Lines(text) {
			fmt.Fprintf(&s, `{"log":%q,"stream":"stdout","time":"2026-11-22T10:00:00Z"}`+"\n", line)
		}
		return s.String()
	}
	sshdOnly := strings.Join(serviceLines["sshd"][:1], "\n")
	for _, test := range []struct{ name, text, want string }{
		{"auth.log", quiet + served("sshd", 3) + quiet, "sshd"},
		{"with PAM's lines, which are of the same logins", quiet + served("sshd", 4) + served("pam", 5), "sshd"},
		{"mail.log", quiet + served("postfix", 5) + served("dovecot", 4), "postfix+dovecot"},
		{"journald", inJournal(strings.ReplaceAll(served("sshd", 3), served("sshd", 1), strings.Replace(sshdOnly, "USER from ADDR", "bob from 192.0.2.1", 1)+"\n") + quiet), "journald:sshd"},
		{"docker", inDocker(served("gitea", 6)), "docker:gitea"},
		{"compose", strings.ReplaceAll("\n"+strings.TrimSpace(served("gitea", 6)), "\n", "\ngitea-1  | ")[1:], "gitea"},
		{"kubernetes", strings.ReplaceAll("\n"+strings.TrimSpace(served("gitea", 6)), "\n", "\n2026-11-22T10:00:00.1Z stdout F ")[1:], "gitea"},
		{"two lines may be a client's", quiet + served("sshd", 2) + quiet, "error 2 of "},
		{"own stamps among others", served("gitea", 6) + strings.Repeat("2026/11/22 10:00:00 cmd/web.go:1:x() [I] started\n", 20), "error 6 of 26 lines read as gitea, which is too few to be sure: if they are, say so with --format gitea"},
		{"a web log", webLog(100), "combined"},
	} {
		f, err := Detect([]byte(test.text), nil)
		if want, ok := strings.CutPrefix(test.want, "error "); ok {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, %v", test.name, f, err)
			}
			continue
		}
		if err != nil || f.String() != test.want {
			t.Errorf("%s: %v, %v", test.name, f, err)
		}
	}
}

// webLog are lines of a web log in which the agent of each is a line of sshd's.
func webLog(n int) string {
	return strings.Repeat(`192.0.2.1 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "`+strings.TrimSpace(served("sshd", 1))+`"`+"\n", n)
}

// TestDetectHostile: what clients send chooses no service, as long as other lines are there as
// often. Where the log's format is not known, its lines begin with what they send.
func TestDetectHostile(t *testing.T) {
	fulltest.Only(t)
	for _, name := range pattern.ServiceNames() {
		lines := strings.Split(strings.TrimSpace(served(name, 10)), "\n")
		for _, test := range []struct{ name, honest, hostile string }{
			{"agent first", "Mozilla/5.0 (X11) 192.0.2.1 /\n", "%s 192.0.2.9 /\n"},
			{"stamp and agent", "2026-11-22T10:00:00Z Mozilla/5.0 (X11) 192.0.2.1 /\n", "2026-11-22T10:00:00Z %s 192.0.2.9 /\n"},
			{"stamp and agent alone", "2026-11-22T10:00:00Z Mozilla/5.0 (X11)\n", "2026-11-22T10:00:00Z %s\n"},
			{"agent alone", "Mozilla/5.0 (X11)\n", "%s\n"},
			{"another program's", "Nov 22 10:00:00 web-1 app: Mozilla/5.0 (X11)\n", "Nov 22 10:00:00 web-1 app: %s\n"},
			{"in Kubernetes", "2026-11-22T10:00:00.1Z stdout F Mozilla/5.0 (X11)\n", "2026-11-22T10:00:00.1Z stdout F %s\n"},
			{"in compose", "web-1  | Mozilla/5.0 (X11)\n", "web-1  | %s\n"},
			{"in an envelope", `{"log":"Mozilla/5.0 (X11)\n","stream":"stdout","time":"2026-11-22T10:00:00Z"}` + "\n", `{"log":"%q\n","stream":"stdout","time":"2026-11-22T10:00:00Z"}` + "\n"},
		} {
			var s strings.Builder
			for i := range 20 {
				s.WriteString(test.honest)
				if line := lines[i/2%len(lines)]; i%2 == 0 && strings.Contains(test.hostile, "%q") {
					quoted := fmt.Sprintf("%q", line)
					s.WriteString(strings.Replace(test.hostile, "%q", quoted[1:len(quoted)-1], 1))
				} else if i%2 == 0 {
					fmt.Fprintf(&s, test.hostile, line)
				}
			}
			if f, err := Detect([]byte(s.String()), nil); err == nil {
				t.Errorf("%s, %s: read as %s", name, test.name, f)
			}
		}
		log := strings.Repeat(`192.0.2.1 - - [22/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "Mozilla"`+"\n", 60) + strings.Join(lines, "\n") + "\n"
		if f, err := Detect([]byte(log), nil); err != nil || f.String() != "combined" {
			t.Errorf("%s: a web log is read as %v, %v", name, f, err)
		}
	}
}

// TestDetectAmbiguous: two services that read the same lines are both named.
func TestDetectAmbiguous(t *testing.T) {
	f, err := Detect([]byte(strings.Repeat("2026-11-22 10:00:00 - AUTHERR - [192.0.2.1] bob 192.0.2.1 failed to login\n", 5)), nil)
	if err == nil || !strings.Contains(err.Error(), "its lines may be of hestiacp or of monitorix: say which with --format hestiacp") {
		t.Errorf("%v, %v", f, err)
	}
}
