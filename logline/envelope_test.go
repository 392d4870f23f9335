package logline

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"edgeguard"
	"edgeguard/logline/loglinetest"
	"edgeguard/logline/scan"
)

// inDocker is what docker's json-file makes of what a program writes.
// (https://docs.docker.com/engine/logging/drivers/json-file/)
func inDocker(text, stream string) string {
	b, _ := json.Marshal(map[string]string{"log": text, "stream": stream, "time": "2019-01-01T11:11:11.111111111Z"})
	return string(b)
}

// inJournal is what journalctl -o json shows of it; a line that is not printable
// text is a list of bytes.
// (https://systemd.io/JOURNAL_EXPORT_FORMATS/#journal-json-format)
func inJournal(text, stream, end string) string {
	var message any = text
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0xFFFD }) {
		numbers := []int{}
		for _, c := range []byte(text) {
			numbers = append(numbers, int(c))
		}
		message = numbers
	}
	fields := map[string]any{"MESSAGE": message, "_STREAM_ID": stream, "__REALTIME_TIMESTAMP": "1455944446000000", "_SYSTEMD_UNIT": "nginx.service"}
	if end != "" {
		fields["_LINE_BREAK"] = end
	}
	b, _ := json.Marshal(fields)
	return string(b)
}

const (
	vectorLine = `{"container_id":"f6","message":"192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] \"GET /\\x22a HTTP/1.1\" 200 5 \"-\" \"x\"","source_type":"docker_logs","stream":"stdout","timestamp":"2016-02-20T00:00:46.1Z"}`
	fluentLine = `{"date":1455926446.1,"log":"192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] \"GET /\\x22a HTTP/1.1\" 200 5 \"-\" \"x\"","stream":"stdout","_p":"F"}`
)

// goodEvent is what the lines in these tests say.
const goodEvent = atHome + rr + `method=GET path=/"a agent=x 200`

// TestEnvelopes holds that a line says in an envelope what it says without.
func TestEnvelopes(t *testing.T) {
	good := combHead + `"GET /\x22a HTTP/1.1" 200 5 "-" "x"`
	long := escapedBytes(MaxLine / 4)
	longJSON := `{"ts":1455926445,"x":"` + strings.Repeat("x", 20<<10)
	for _, test := range []struct {
		name, format string
		lines, want  []string
	}{
		{"docker", "docker:combined", []string{inDocker(good+"\n", "stdout")}, []string{goodEvent}},
		{"docker, with a terminal", "docker:combined", []string{inDocker(good+"\r\n", "stdout")}, []string{goodEvent}},
		{"docker, an empty line", "docker:combined", []string{inDocker("\n", "stdout"), inDocker(good+"\n", "stdout")}, []string{goodEvent}},
		{"docker, a log_format", `docker:$remote_addr $msec "$request"`, []string{inDocker("192.0.2.1 1455926445 \"GET / HTTP/1.1\"\n", "stdout")}, []string{atHome + " request method=GET path=/"}},
		{"docker, JSON inside", "docker:json", []string{inDocker(`{"ts":1455926445,"request":{"client_ip":"192.0.2.1","uri":"/<"},"status":200}`+"\n", "stderr")}, []string{atHome + rr + "path=/< 200"}},
		{"docker, W3C inside", "docker:w3c", []string{inDocker("#Fields: date time c-ip\n", "stdout"), inDocker("2016-02-20 00:00:45 192.0.2.1\n", "stdout")}, []string{atHome + " request"}},
		{"journald", "journald:combined", []string{inJournal(good, "s", "")}, []string{goodEvent}},
		{"journald, by syslog", "journald:haproxy", []string{`{"MESSAGE" : "192.0.2.1:5 [20/Feb/2016:00:00:45.000] f b/s 0/0/0/0/0 200 5 - - ---- 0/0/0/0/0 0/0 \"GET /a HTTP/1.1\"" , "x" : [ 1, {"MESSAGE":"9"} ]}`}, []string{atHome + rr + "method=GET path=/a 200"}},
		{"journald, a list of bytes", "journald:combined", []string{inJournal(combHead+"\"GET /\x1b HTTP/1.1\" 200 5 \"-\" \"\x01\"", "s", "")}, []string{atHome + rr + "method=GET path=/\x1b agent=\x01 200"}},
		{"vector", "vector:combined", []string{vectorLine}, []string{goodEvent}},
		{"fluentbit", "fluentbit:combined", []string{fluentLine}, []string{goodEvent}},
		{"fluentbit, message", "fluentbit:combined", []string{vectorLine}, []string{goodEvent}},

		{"docker, pieces", "docker:combined", []string{
			inDocker(combHead+`"GET /`+long[:100], "stdout"), inDocker(long[:40], "stdout"), inDocker(good+"\n", "stderr"),
			inDocker(strings.Replace(good, "192.0.2.1", "9.9.9.9", 1)+"\n", "stdout"), inDocker(good+"\n", "stdout"),
		}, []string{atHome + " request method=GET", goodEvent, goodEvent}},
		{"docker, JSON in pieces", "docker:json", []string{inDocker(longJSON, "stdout"), inDocker(`{"ts":1,"ip":"9.9.9.9"}`, "stdout"), inDocker(`","ip":"192.0.2.1"}`+"\n", "stdout"), inDocker(`{"ts":1455926445,"ip":"192.0.2.1"}`+"\n", "stdout")},
			[]string{"not a JSON object", atHome + " request"}},
		{"docker, JSON in good pieces", "docker:json", []string{inDocker(longJSON, "stdout"), inDocker(longJSON[1:], "stderr"), inDocker(`","ip":"192.0.2.1"}`+"\n", "stdout")}, []string{atHome + " request"}},
		{"journald, pieces", "journald:combined", []string{
			inJournal(combHead+`"GET /a?`, "1", "line-max"), inJournal(good, "2", ""), inJournal(strings.Replace(good, "192.0.2.1", "9.9.9.9", 1), "1", ""), inJournal(good, "1", ""),
		}, []string{atHome + " request method=GET path=/a?", goodEvent, goodEvent}},
		{"vector, pieces", "vector:combined", []string{strings.Replace(vectorLine, `"stream"`, `"_partial":true,"stream"`, 1), strings.Replace(vectorLine, "192.0.2.1", "9.9.9.9", 1), vectorLine}, []string{goodEvent, goodEvent}},
		{"fluentbit, pieces", "fluentbit:combined", []string{strings.Replace(fluentLine, `"F"`, `"P"`, 1), strings.Replace(fluentLine, "192.0.2.1", "9.9.9.9", 1), fluentLine}, []string{goodEvent, goodEvent}},
		{"fluentbit, docker's pieces", "fluentbit:combined", []string{
			strings.Replace(fluentLine, `"_p":"F"`, `"partial_message":"true","partial_last":"false"`, 1), strings.Replace(strings.Replace(fluentLine, "192.0.2.1", "9.9.9.9", 1), `"_p":"F"`, `"partial_message":"true","partial_last":"true"`, 1), fluentLine,
		}, []string{goodEvent, goodEvent}},
		{"kubernetes", "combined", []string{"2016-02-20T00:00:46.123456789Z stdout F " + good}, []string{goodEvent}},
		{"kubernetes, pieces", "combined", []string{
			"2016-02-20T00:00:46Z stdout P " + combHead + `"GET /`, "2016-02-20T00:00:46Z stderr F " + good, "2016-02-20T00:00:46Z stdout P " + strings.Replace(good, "192.0.2.1", "9.9.9.9", 1),
			"2016-02-20T00:00:46+00:00 stdout F " + strings.Replace(good, "192.0.2.1", "9.9.9.9", 1), "2016-02-20T00:00:46Z stdout F " + good,
		}, []string{atHome + " request method=GET", goodEvent, goodEvent}},
		{"kubernetes, JSON in pieces", "json", []string{"2016-02-20T00:00:46Z stdout P " + longJSON, `2016-02-20T00:00:46Z stdout F ","ip":"192.0.2.1"}`, `2016-02-20T00:00:46Z stdout F {"ts":1455926445,"ip":"192.0.2.1"}`}, []string{atHome + " request", atHome + " request"}},
		{"kubernetes, haproxy in pieces", "haproxy", []string{"2016-02-20T00:00:46Z stdout P 192.0.2.1:5 [20/Feb/2016:00:00:45.000] f b/s 0/0/0/0/0 200 5 - - ---- 0/0/0/0/0 0/0 \"GET /a?", `2016-02-20T00:00:46Z stdout F 9.9.9.9:5 [20/Feb/2016:00:00:45.000] f b/s 0/0/0/0/0 200 5 - - ---- 0/0/0/0/0 0/0 "GET / HTTP/1.1"`},
			[]string{atHome + rr + "method=GET path=/a? 200"}},
		{"a long line", "docker:combined", []string{inDocker(combHead+`"GET /a HTTP/1.1" 200 5 "-" "`+long+long+"\"\n", "stdout"), inDocker(good+"\n", "stdout")}, []string{atHome + rr + "method=GET path=/a 200", goodEvent}},
		{"a long line of JSON", "docker:json", []string{inDocker(`{"ts":1455926445,"x":"`+long+`","ip":"192.0.2.1"}`+"\n", "stdout")}, []string{atHome + " request"}},

		{"journald, a line without a time", `journald:regex:^(?P<auth_failure>Failed) password for .* from (?P<addr>[^ ]+) port \d+(?: ssh2)?$`, []string{
			inJournal("Failed password for root from 192.0.2.1 port 1 ssh2", "s", ""), inJournal("Accepted publickey for root from 192.0.2.1 port 1 ssh2", "s", ""),
			`{"__REALTIME_TIMESTAMP":"1455926446000000","MESSAGE":"Failed password for x from 192.0.2.2 port 1","_SOURCE_REALTIME_TIMESTAMP":"1455926445123456"}`,
			`{"_SOURCE_REALTIME_TIMESTAMP":"1455926445123456","__REALTIME_TIMESTAMP":"1455926446000000","MESSAGE":"Failed password for x from 192.0.2.2 port 1"}`,
			`{"MESSAGE":"Failed password for x from 192.0.2.2 port 1"}`,
		}, []string{"192.0.2.1 2016-02-20T05:00:46Z auth_failure", "192.0.2.2 2016-02-20T00:00:45.123456Z auth_failure", "192.0.2.2 2016-02-20T00:00:45.123456Z auth_failure", "no time in the group time, nor at the line's beginning"}},
		{"journald, by the program's name", `journald:regex:{sshd|sshd-session}(?P<auth_failure>Failed) password for .* from (?P<addr>[^ ]+) port \d+(?: ssh2)?$`, []string{
			`{"__REALTIME_TIMESTAMP":"1455926446000000","SYSLOG_IDENTIFIER":"sshd","MESSAGE":"Failed password for root from 192.0.2.1 port 1 ssh2"}`,
			`{"__REALTIME_TIMESTAMP":"1455926446000000","SYSLOG_IDENTIFIER":"sshd","MESSAGE":"sshd[1]: Failed password for root from 9.9.9.9 port 1 ssh2"}`,
			`{"__REALTIME_TIMESTAMP":"1455926446000000","SYSLOG_IDENTIFIER":"app","MESSAGE":"sshd[1]: Failed password for root from 9.9.9.9 port 1 ssh2"}`,
			`{"__REALTIME_TIMESTAMP":"1455926446000000","SYSLOG_IDENTIFIER":"app","MESSAGE":"Nov 22 10:00:00 h sshd[1]: Failed password for root from 9.9.9.9 port 1 ssh2"}`,
			`{"__REALTIME_TIMESTAMP":"1455926446000000","MESSAGE":"2016-02-20T00:00:45Z sshd: Failed password for root from 9.9.9.9 port 1 ssh2"}`,
			`{"MESSAGE":"Failed password for root from 192.0.2.2 port 1 ssh2","SYSLOG_IDENTIFIER":"sshd-session","__REALTIME_TIMESTAMP":"1455926446000000"}`,
		}, []string{"192.0.2.1 2016-02-20T00:00:46Z auth_failure", "192.0.2.2 2016-02-20T00:00:46Z auth_failure"}},
		{"journald, a service", "journald:sshd", []string{`{"__REALTIME_TIMESTAMP":"1455926446000000","SYSLOG_IDENTIFIER":"sshd","MESSAGE":"Invalid user x from 192.0.2.1 port 7"}`}, []string{"192.0.2.1 2016-02-20T00:00:46Z auth_failure"}},
		{"docker, a header without a stamp is none", `docker:regex:{sshd}(?P<auth_failure>Failed) password for .* from (?P<addr>[^ ]+) port \d+(?: ssh2)?$`, []string{
			inDocker("sshd[1]: Failed password for root from 9.9.9.9 port 1 ssh2\n", "stdout"), inDocker("2016-02-20T00:00:45Z h sshd[1]: Failed password for root from 192.0.2.1 port 1 ssh2\n", "stdout"),
		}, []string{atHome + " auth_failure"}},
		{"docker, JSON without a time", "docker:json", []string{inDocker(`{"ip":"192.0.2.1"}`+"\n", "stdout"), inDocker(`{"ts":1455926445,"ip":"192.0.2.1"}`+"\n", "stdout"), inDocker(`{"ip":"192.0.2.1",`, "stdout"), inDocker(`"uri":"/a"}`+"\n", "stdout")},
			[]string{"192.0.2.1 2019-01-01T11:11:11.111111111Z request", atHome + " request", "192.0.2.1 2019-01-01T11:11:11.111111111Z request path=/a"}},
		{"fluentbit, JSON without a time", "fluentbit:json", []string{`{"date":1455926445.25,"log":"{\"ip\":\"192.0.2.1\"}"}`, `{"date":"today","log":"{\"ip\":\"192.0.2.1\"}"}`}, []string{"192.0.2.1 2016-02-20T00:00:45.25Z request", "no time under a known name"}},
		{"no object", "docker:combined", []string{good, `{"log":"x\n"`, `{"log":"x\n"} x`, `{"log" "x\n"}`, `{"log":"x\n",}`, `{x}`},
			slices.Repeat([]string{"not a JSON object, as the envelope of a line is"}, 6)},
		{"no line", "docker:combined", []string{`{"message":"x"}`, `{"log":{"offset":1}}`, `{}`}, slices.Repeat([]string{"the envelope holds no line: no log, message or MESSAGE, as its format names it"}, 3)},
		{"two lines", "docker:combined", []string{`{"log":"x\n","log":"y\n"}`}, []string{"the envelope holds two lines"}},
		{"two messages", "journald:combined", []string{`{"MESSAGE":["a","b"]}`, `{"MESSAGE":[[1],[2]]}`}, slices.Repeat([]string{"the envelope holds two lines"}, 2)},
		{"a message that journalctl left out", "journald:combined", []string{`{"MESSAGE":null}`}, []string{"MESSAGE is null, because it is long: run journalctl with --all"}},
		{"a piece that journalctl left out", "journald:combined", []string{`{"MESSAGE":null,"_STREAM_ID":"1","_LINE_BREAK":"line-max"}`, inJournal(good, "1", "line-max"), inJournal(good, "2", ""), inJournal(good, "1", ""), inJournal(good, "1", "")},
			[]string{"MESSAGE is null, because it is long: run journalctl with --all", goodEvent, goodEvent}},
		{"a later piece that journalctl left out", "journald:combined", []string{inJournal(combHead, "1", "line-max"), `{"MESSAGE":null,"_STREAM_ID":"1"}`, inJournal(good, "1", "")},
			[]string{string(scan.NotTheFormat), "MESSAGE is null, because it is long: run journalctl with --all", goodEvent}},
		{"no text", "journald:combined", []string{`{"MESSAGE":7}`, `{"MESSAGE":true}`, `{"MESSAGE":[256]}`, `{"MESSAGE":[1 2]}`, `{"MESSAGE":[1,x]}`}, slices.Repeat([]string{"the line in the envelope is neither a text nor a list of bytes"}, 5)},
		{"lines in one", "vector:combined", []string{`{"message":"x\n` + strings.ReplaceAll(good, `"`, `\"`) + `"}`}, []string{"the envelope holds more than one line"}},
		{"another line inside", "docker:combined", []string{inDocker("starting\n", "stdout")}, []string{"no address where the format has one"}},
		{"more than is kept", "docker:combined", []string{inDocker(strings.Repeat("x", 1<<20)+"\n", "stdout"), inDocker(good+"\n", "stdout")}, []string{"longer than 1 MiB", goodEvent}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, size := range []int{1 << 30, blockSize} {
				l := Parser{parser: parserOf(t, test.format, "")}
				if got := shownInOrder(&l, test.lines, size); !slices.Equal(got, test.want) {
					t.Errorf("in chunks of %d:\n got %.600q\nwant %.600q", size, got, test.want)
				}
			}
		})
	}
}

// shownInOrder parses lines and returns their events and why others are skipped.
func shownInOrder(l *Parser, lines []string, size int) (all []string) {
	long := new(Long)
	for _, line := range lines {
		for rest := []byte(line + "\n"); len(rest) > 0; {
			c := &Chunk{Text: rest[:min(size, len(rest))], Long: long, GoesOn: size < len(rest)}
			rest = rest[len(c.Text):]
			l.Parse(c)
			for i := range c.Events {
				all = append(all, shown(&c.Events[i]))
			}
			for _, s := range c.Shown {
				if len(c.Events) == 0 {
					all = append(all, s.Reason)
				}
			}
		}
	}
	return all
}

func TestEnvelopeFormats(t *testing.T) {
	good := strings.TrimSpace(goodLine)
	for format, want := range map[string]string{
		"docker:":                     "name the format of the lines in the envelopes: docker:combined",
		"journald:auto":               "name the format of the lines in the envelopes: journald:combined",
		"vector:docker:json":          "one envelope is taken off",
		"fluentbit:csv:time=a,addr=b": "begins with its header",
		"docker:nonsense":             "unknown log format",
		"podman:combined":             "unknown log format",
	} {
		if _, err := ParseFormat(format); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", format, err, want)
		}
	}
	for want, line := range map[string]string{
		"docker:combined":    inDocker(good+"\n", "stdout"),
		"vector:combined":    vectorLine,
		"fluentbit:combined": fluentLine,
		"fluentbit:json":     `{"log":"{\"ts\":1,\"ip\":\"192.0.2.1\"}","stream":"stdout"}`,
		"json":               `{"log":"{\"ts\":1,\"ip\":\"9.9.9.9\"}","ts":1,"ip":"192.0.2.1"}`,
	} {
		if f, err := Detect([]byte(strings.Repeat(line+"\n", 3)), nil); err != nil || f.String() != want {
			t.Errorf("%s is detected as %v, %v", want, f, err)
		}
	}
	if f, err := Detect([]byte(strings.Repeat(`{"log":"{}","stream":"stdout"}`+"\n", 9)), nil); err == nil {
		t.Errorf("pieces without an end are detected as %v", f)
	}
}

// TestEnvelopePieces holds that no piece of a line but the first is ever read as a
// line, whatever is in it and whatever lies between. Here a client needs no quote
// to write what would be a line.
func TestEnvelopePieces(t *testing.T) {
	const forged = victim + " 1455944445 x"
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	l := Parser{parser: parserOf(t, "docker:$remote_addr $msec $http_user_agent", "")}
	events := 0
	for range 2000 {
		text := "192.0.2.1 1455944445 " + loglinetest.NginxEscaped(hostileText(rng)) + forged + loglinetest.NginxEscaped(hostileText(rng)) + "\n"
		var lines []string
		for rest := text; rest != ""; {
			n := 1 + rng.IntN(len(rest))
			if at := strings.Index(rest[1:], forged); at >= 0 && rng.IntN(2) == 0 {
				n = 1 + at
			}
			lines, rest = append(lines, inDocker(rest[:n], "stdout")), rest[n:]
			if rng.IntN(3) == 0 {
				lines = append(lines, inDocker("192.0.2.1 1455944445 y\n", "stderr"))
			}
		}
		for _, line := range lines {
			c := &Chunk{Text: []byte(line)}
			l.Parse(c)
			for i := range c.Events {
				if events++; c.Events[i].Addr.String() != "192.0.2.1" {
					t.Fatalf("seed %d: %s from %q", seed, shown(&c.Events[i]), lines)
				}
			}
		}
	}
	if events < 2000 {
		t.Errorf("seed %d: %d events", seed, events)
	}
}

// TestEnvelopesAllocate holds that taking an envelope off costs no memory.
func TestEnvelopesAllocate(t *testing.T) {
	good := strings.TrimSpace(goodLine)
	for _, test := range []struct{ format, line string }{
		{"docker:combined", inDocker(good+"\n", "stdout")}, {"journald:combined", inJournal(good+"\x01", "s", "")}, {"fluentbit:combined", fluentLine},
	} {
		line, room := []byte(test.line), make([]byte, len(test.line))
		p := parserOf(t, test.format, "")
		var ev edgeguard.Event
		if n := testing.AllocsPerRun(100, func() {
			copy(room, line)
			if why := p.Parse(room, &ev); why != scan.Read {
				t.Fatal(why)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations a line", test.format, n)
		}
	}
}

// FuzzEnvelope holds that any line says in an envelope exactly what it says
// without.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{strings.TrimSpace(goodLine), `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET /\x22é<\u2028 HTTP/1.1" 200 1 "-" "\\"`, "\x1b\xff"} {
		f.Add(seed)
	}
	for _, e := range loglinetest.Examples {
		f.Add(e.Line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > MaxLine || strings.ContainsAny(text, "\r\n") || strings.TrimSpace(text) == "" {
			return
		}
		envelopes := map[string]string{"journald:": inJournal(text, "s", "")}
		if utf8.ValidString(text) { // docker replaces what is not
			envelopes["docker:"] = inDocker(text+"\n", "stdout")
		}
		for _, format := range Names() {
			var want edgeguard.Event
			p := parserOf(t, format, "")
			why := scan.ParseLine(p, []byte(text), &want)
			if d, ok := p.(scan.Dated); ok && (d.Bare() || why == scan.Aside || why != scan.BadTime && strings.HasPrefix(string(why), "no time")) {
				continue // the envelope says when it was written
			}
			for envelope, line := range envelopes {
				var got edgeguard.Event
				if gotWhy := parserOf(t, envelope+format, "").Parse([]byte(line), &got); gotWhy != why || why == scan.Read && shown(&got) != shown(&want) {
					t.Fatalf("%s%s: %q says %s %s in the envelope, and %s %s without", envelope, format, text, gotWhy, shown(&got), why, shown(&want))
				}
			}
		}
	})
}
