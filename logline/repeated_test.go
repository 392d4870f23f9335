package logline

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	sshLine = "Nov 27 10:00:10 web-1 sshd[17]: Failed password for root from 192.0.2.1 port 4711 ssh2\n"
	sshBody = "message repeated %d times: [ Failed password for root from 192.0.2.1 port 4711 ssh2]\n"
	webBody = `192.0.2.1 - - [27/Nov/2026:10:00:10 +0000] "GET /0 HTTP/1.1" 404 12 "-" "curl"`
)

// TestRepeated holds how often a line counts that a daemon says came again.
func TestRepeated(t *testing.T) {
	const head, web = "Nov 27 10:00:20 web-1 sshd[17]: ", "Nov 27 10:00:20 web-1 nginx: "
	const quoted = "Nov 27 10:00:20 web-1 sshd: Last message 'Failed password for "
	for _, test := range []struct {
		name, format, text string
		events             int
		skipped            uint64
	}{
		{"a body", "sshd", sshLine + head + fmt.Sprintf(sshBody, 5), 6, 0},
		{"a body alone", "sshd", head + fmt.Sprintf(sshBody, 5), 5, 0},
		{"RFC 5424", "sshd", "<86>1 2026-11-27T10:00:20Z web-1 sshd 17 - - " + fmt.Sprintf(sshBody, 3), 3, 0},
		{"no blank before the body", "sshd", head + strings.Replace(fmt.Sprintf(sshBody, 2), "[ ", "[", 1), 2, 0},
		{"of another program", "sshd", "Nov 27 10:00:20 web-1 app: " + fmt.Sprintf(sshBody, 5), 0, 0},
		{"too often", "sshd", head + fmt.Sprintf(sshBody, 99999), 1000, 0},
		{"never", "sshd", head + fmt.Sprintf(sshBody, 0), 0, 0},
		{"another body", "sshd", head + "message repeated 5 times: [ Connection from all]\n", 0, 0},
		{"cut", "sshd", head + strings.TrimSuffix(fmt.Sprintf(sshBody, 5), "]\n") + "\n", 0, 0},
		{"not where the message begins", "sshd", head + "x " + fmt.Sprintf(sshBody, 5), 0, 0},
		{"an access log", "combined", web + webBody + "\n" + web + "message repeated 5 times: [ " + webBody + "]\n" + web + webBody + "\n", 7, 0},
		{"vhost_combined", "vhost_combined", web + "a:80 " + webBody + "\n" + web + "message repeated 5 times: [ a:80 " + webBody + "]\n", 6, 0},
		{"JSON", "json", web + `message repeated 2 times: [ {"ip":"192.0.2.1","ts":1455926445}]` + "\n", 2, 0},
		{"a time first", `[$time_local] $remote_addr $status`, web + "message repeated 4 times: [ [20/Feb/2016:00:00:45 +0000] 192.0.2.1 404]\n", 4, 0},
		{"behind a runtime", "combined", "2026-11-27T10:00:20Z stdout F message repeated 5 times: [ " + webBody + "]\n", 0, 1},
		{"behind compose", "combined", "web-1  | message repeated 5 times: [ " + webBody + "]\n", 0, 1},
		{"no header", "combined", "message repeated 5 times: [ " + webBody + "]\n", 0, 1},
		{"what a client writes is first", `$http_x $remote_addr $msec "$http_y"`, web + `message repeated 5 times: [ a 192.0.2.1 1455926445.000 "x"]` + "\n", 0, 1},
		{"the last", "sshd", sshLine + "Nov 27 10:00:20 web-1 last message repeated 5 times\n", 6, 0},
		{"the last, a tag", "sshd", sshLine + "Nov 27 10:00:20 web-1 syslogd: last message repeated 5 times\n", 6, 0},
		{"the last, once", "sshd", sshLine + "Nov 27 10:00:20 web-1 last message repeated 1 time\n", 2, 0},
		{"the last, another program's tag", "sshd", sshLine + "Nov 27 10:00:20 web-1 app[7]: last message repeated 5 times\n", 1, 0},
		{"the last, twice", "sshd", sshLine + strings.Repeat("Nov 27 10:00:20 web-1 last message repeated 5 times\n", 2), 11, 0},
		{"the last was not counted", "sshd", sshLine + "Nov 27 10:00:10 web-1 sshd[17]: x\nNov 27 10:00:20 web-1 last message repeated 5 times\n", 1, 0},
		{"the last was empty", "sshd", sshLine + "\nNov 27 10:00:20 web-1 last message repeated 5 times\n", 1, 0},
		{"the last, of nothing", "sshd", "Nov 27 10:00:20 web-1 last message repeated 5 times\n", 0, 0},
		{"the last, by a client", "combined", web + webBody + "\n" + `192.0.2.9 - - [27/Nov/2026:10:00:10 +0000] "GET / HTTP/1.1" 200 1 "-" "last message repeated 5 times` + "\n", 2, 0},
		{"the last, of another host", "sshd", sshLine + "Nov 27 10:00:20 web-2 last message repeated 5 times\n", 1, 0},
		{"syslog-ng", "sshd", sshLine + quoted + "' repeated 5 times, suppressed by syslog-ng on web-1\n", 6, 0},
		{"syslog-ng 2", "sshd", sshLine + quoted + "' repeated 1 times, supressed by syslog-ng on web-1\n", 2, 0},
		{"syslog-ng, RFC 5424", "sshd", "<86>1 2026-11-27T10:00:20Z web-1 sshd 17 - - " + sshLine[len(head):] + "<86>1 2026-11-27T10:00:29Z web-1 sshd - - - " + quoted[len("Nov 27 10:00:20 web-1 sshd: "):] + "' repeated 5 times, suppressed by syslog-ng on web-1\n", 6, 0},
		{"syslog-ng, an access log", "combined", web + webBody + "\n" + web + "Last message '192.0.2.1 - - [27/No' repeated 5 times, suppressed by syslog-ng on web-1\n", 6, 0},
		{"syslog-ng, all of a short line", `$remote_addr $msec`, web + "192.0.2.1 1.5\n" + web + "Last message '192.0.2.1 1.5' repeated 2 times, suppressed by syslog-ng on web-1\n", 3, 0},
		{"syslog-ng, another line", "sshd", sshLine + strings.Replace(quoted, "Failed", "failed", 1) + "' repeated 5 times, suppressed by syslog-ng on web-1\n", 1, 0},
		{"syslog-ng, another program", "sshd", sshLine + strings.Replace(quoted, "sshd", "app", 1) + "' repeated 5 times, suppressed by syslog-ng on web-1\n", 1, 0},
		{"syslog-ng, another host", "sshd", sshLine + strings.Replace(quoted, "web-1", "web-2", 1) + "' repeated 5 times, suppressed by syslog-ng on web-1\n", 1, 0},
		{"syslog-ng, not the line before", "sshd", sshLine + "\n" + quoted + "' repeated 5 times, suppressed by syslog-ng on web-1\n", 1, 0},
		{"syslog-ng, cut", "sshd", sshLine + quoted + "' repeated 5 times\n", 1, 0},
		{"the last, by a program", "sshd", sshLine + "Nov 27 10:00:20 web-1 app: x last message repeated 5 times\n", 1, 0},
	} {
		p := formatOf(t, test.format).Parser("log", nil)
		p.SetLatest(time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC))
		c := &Chunk{Text: []byte(test.text)}
		p.Parse(c)
		if len(c.Events) != test.events || c.Skipped != test.skipped {
			t.Errorf("%s: %d events, %d skipped %v; want %d, %d", test.name, len(c.Events), c.Skipped, c.Shown, test.events, test.skipped)
		}
		for _, ev := range c.Events {
			if a := ev.Addr.String(); a != "192.0.2.1" && a != "192.0.2.9" {
				t.Errorf("%s: an event of %s", test.name, a)
			}
		}
		// Each event's line is known by the gaps.
		line, next := uint64(0), 0
		for i := range c.Events {
			for next < len(c.Gaps) && c.Gaps[next].Event <= uint64(i) {
				line = c.Gaps[next].Ahead
				next++
			}
			if at := uint64(i) + line; at < 1 || at > c.Lines {
				t.Errorf("%s: event %d is of line %d of %d", test.name, i, at, c.Lines)
			}
		}
	}
}

// TestRepeatedNextChunk holds that a line counts again that was the last of its file's chunk
// before, and none of another file.
func TestRepeatedNextChunk(t *testing.T) {
	const last = "Nov 27 10:00:20 web-1 last message repeated 5 times\n"
	one, two := new(int), new(int)
	for _, test := range []struct {
		name   string
		chunks []Chunk
		want   int
	}{
		{"one file", []Chunk{{Text: []byte(sshLine), Origin: one}, {Text: []byte(last), Origin: one}, {Text: []byte(last), Origin: one}}, 11},
		{"a rotation", []Chunk{{Text: []byte(sshLine), Origin: one}, {Text: []byte(last), Origin: two}}, 1},
		{"no file", []Chunk{{Text: []byte(sshLine)}, {Text: []byte(last)}}, 1},
		{"another line between", []Chunk{{Text: []byte(sshLine), Origin: one}, {Text: []byte("Nov 27 10:00:11 web-1 sshd[17]: x\n"), Origin: one}, {Text: []byte(last), Origin: one}}, 1},
		{"syslog-ng", []Chunk{{Text: []byte(sshLine), Origin: one}, {Text: []byte("Nov 27 10:00:20 web-1 sshd: Last message 'Failed password for ' repeated 5 times, suppressed by syslog-ng on web-1\n"), Origin: one}}, 6},
		{"another host", []Chunk{{Text: []byte(sshLine), Origin: one}, {Text: []byte("Nov 27 10:00:20 web-2 last message repeated 5 times\n"), Origin: one}}, 1},
		{"nothing between", []Chunk{{Text: []byte(sshLine), Origin: one}, {Text: nil, Origin: one}, {Text: []byte(last), Origin: one}}, 6},
	} {
		p := formatOf(t, "sshd").Parser("log", nil)
		p.SetLatest(time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC))
		got := 0
		for i := range test.chunks {
			p.Parse(&test.chunks[i])
			got += len(test.chunks[i].Events)
			clear(test.chunks[i].Text) // its memory is used again
		}
		if got != test.want {
			t.Errorf("%s: %d events, want %d", test.name, got, test.want)
		}
	}
}

// TestRepeatedAtMost holds that lines that came again often do not fill the memory.
func TestRepeatedAtMost(t *testing.T) {
	p := formatOf(t, "sshd").Parser("log", nil)
	p.SetLatest(time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC))
	c := &Chunk{Text: []byte(strings.Repeat("Nov 27 10:00:20 web-1 sshd[17]: "+fmt.Sprintf(sshBody, 1000), 100))}
	p.Parse(c)
	counted := 0
	for _, ev := range c.Events {
		counted += max(1, int(ev.Hits))
	}
	if counted != 100_000 || len(c.Events) > mostCopies+100 {
		t.Errorf("%d events count for %d, want 100,000 in at most %d", len(c.Events), counted, mostCopies+100)
	}
}

// TestSuppressedIsAFigure holds that lines which a daemon suppressed are told, count for nobody, and are no broken lines.
func TestSuppressedIsAFigure(t *testing.T) {
	const journald, web = "Nov 27 10:00:20 web-1 systemd-journald[311]: Suppressed 99 messages from ssh.service\n", "Nov 27 10:00:20 web-1 nginx: "
	message := func(program, text string) string {
		return fmt.Sprintf(`{"MESSAGE":"%s","SYSLOG_IDENTIFIER":"%s","__REALTIME_TIMESTAMP":"1455944446000000"}`+"\n", text, program)
	}
	for _, test := range []struct {
		format, text string
		want         uint64
	}{
		{"sshd", sshLine + journald + sshLine, 99},
		{"combined", web + webBody + "\n" + journald + web + webBody + "\n", 99},
		{"journald:sshd", message("sshd", "Failed password for root from 192.0.2.1 port 4711 ssh2") + message("systemd-journald", "Suppressed 98 messages from ssh.service") +
			message("app", "Suppressed 97 messages from ssh.service") + message("sshd", "Failed password for root from 192.0.2.1 port 4711 ssh2"), 98},
	} {
		p := formatOf(t, test.format).Parser("log", nil)
		p.SetLatest(time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC))
		c := &Chunk{Text: []byte(test.text)}
		if p.Parse(c); len(c.Events) != 2 || c.Skipped != 0 || c.Suppressed != test.want {
			t.Errorf("%s: %d events, %d skipped %v, %d suppressed; want 2, 0, %d", test.format, len(c.Events), c.Skipped, c.Shown, c.Suppressed, test.want)
		}
	}
}
