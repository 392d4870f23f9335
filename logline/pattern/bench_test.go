package pattern

import (
	"bytes"
	"testing"
	"time"

	"edgeguard"
)

const benched = `{sshd|sshd-session}(?P<auth_failure>Failed) [a-z]+ for .* from (?P<addr>[^ ]+) port \d+(?: ssh2)?$`

// BenchmarkCompile is what it takes to judge an expression.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := CompileExpressions("", benched); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParse is a line that matches, one that does not, and the longest.
func BenchmarkParse(b *testing.B) {
	f, err := CompileExpressions("", benched)
	if err != nil {
		b.Fatal(err)
	}
	for name, line := range map[string][]byte{
		"match":   []byte("2016-02-20T00:00:45-05:00 web-1 sshd[1]: Failed password for root from 192.0.2.1 port 7 ssh2"),
		"pass":    []byte("2016-02-20T00:00:45-05:00 web-1 cron[1]: pam_unix(cron:session): session opened for user root by (uid=0)"),
		"longest": append([]byte("2016-02-20T00:00:45-05:00 web-1 sshd[1]: Failed password for "), bytes.Repeat([]byte(" from "), 2500)...),
	} {
		b.Run(name, func(b *testing.B) {
			p := f.Parser(time.UTC)
			var ev edgeguard.Event
			b.ReportAllocs()
			for b.Loop() {
				p.Parse(line, &ev)
			}
		})
	}
}
