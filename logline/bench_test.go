package logline

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/logline/loglinetest"
	"edgeguard/logline/pattern"
	"edgeguard/logline/scan"
)

// combinedLog makes n lines of the combined format, ten a second.
func combinedLog(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `203.0.%d.%d - - [20/Feb/2016:00:%02d:%02d -0500] "GET /2015/08/10/a-page-of-the-site-%d/ HTTP/1.1" 200 24810 "https://www.example.org/" "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/32.0.1700.77 Safari/537.36"`+"\n",
			i%7, i%250, i/600%60, i/10%60, i%1000)
	}
	return b.Bytes()
}

// BenchmarkParse is one goroutine's parsing, per line.
func BenchmarkParse(b *testing.B) {
	type log struct {
		format string
		text   []byte
	}
	var logs []log
	for _, e := range loglinetest.Examples {
		text := []byte(e.Head + strings.Repeat(e.Line+"\n", 600))
		if e.Name == Default {
			text = combinedLog(1500) // of many clients
		}
		logs = append(logs, log{e.Format, text})
	}
	for _, bench := range append(logs,
		log{`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`, combinedLog(1500)},
		log{"docker:combined", bytes.Repeat([]byte(inDocker(strings.TrimSpace(string(combinedLog(1)))+"\n", "stdout")+"\n"), 600)},
		log{"w3c:" + loglinetest.CloudFrontFields, bytes.Repeat([]byte(cloudFrontRow+"\n"), 600)},
		log{"w3c:" + iisFields, bytes.Repeat([]byte(iisRow+"\n"), 1500)},
		log{"csv:time=t,addr=a,node=n", bytes.Repeat([]byte("2013-03-03 21:53:59,groucho-oregon,1032051418,TCP,,6000,1433\n"), 4000)},
	) {
		b.Run(bench.format[:min(8, len(bench.format))], func(b *testing.B) {
			f, err := ParseFormat(bench.format)
			if err != nil {
				b.Fatal(err)
			}
			l := f.Parser("", nil)
			if h, ok := l.parser.(scan.Header); ok {
				if err := h.Bind([]byte("t,n,a,x,y,z,p")); err != nil {
					b.Fatal(err)
				}
			}
			p := &Chunk{Text: bytes.Clone(bench.text)}
			l.Parse(p)
			lines := len(p.Events)
			if p.Skipped > 0 {
				b.Fatal(p.Shown)
			}
			b.SetBytes(int64(len(bench.text) / lines))
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += lines {
				copy(p.Text, bench.text) // parsing changes it
				l.Parse(p)
			}
		})
	}
}

// BenchmarkHostile is the dearest line that a client can write: blanks, in a
// format with several fields of his and no quotes around them.
func BenchmarkHostile(b *testing.B) {
	f, err := ParseFormat("$remote_addr $remote_user $http_referer $http_user_agent $request_uri [$time_local] $status")
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{4 << 10, 60 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			line := fmt.Appendf(nil, "192.0.2.1 x %s x /x [20/Feb/2016:00:00:45 +0000] 200\n", bytes.Repeat([]byte{' '}, size))
			l, p := f.Parser("", nil), &Chunk{}
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				p.Text = line
				l.Parse(p)
			}
		})
	}
}

// BenchmarkServices is what a line costs that services look at: one that says nothing of a
// client, and one of sshd's, by sshd alone, by the services of a mail server, and by all.
func BenchmarkServices(b *testing.B) {
	var all []string
	for _, name := range pattern.ServiceNames() {
		if pattern.ServicePaths(name) == "" {
			all = append(all, name)
		}
	}
	quiet := strings.Split(strings.TrimSpace(quietLines), "\n")[0]
	failed := strings.TrimSpace(served("sshd", 1))
	for _, format := range []struct{ name, text string }{{"sshd", "sshd"}, {"mail", "sshd+postfix+dovecot"}, {"all", strings.Join(all, "+")}} {
		for name, line := range map[string]string{"quiet": quiet, "failed": failed} {
			b.Run(format.name+"/"+name, func(b *testing.B) {
				p := parserOf(b, format.text, "")
				p.(scan.Dated).SetLatest(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
				text := []byte(line)
				var ev edgeguard.Event
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					p.Parse(text, &ev)
				}
			})
		}
	}
}
