package logline

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/logline/formats"
	"edgeguard/logline/loglinetest"
	"edgeguard/logline/scan"
)

// escapedBytes is what nginx writes of n bytes that are no ASCII.
func escapedBytes(n int) string { return strings.Repeat(`\xFF`, n) }

const (
	// blockSize is that of the chunks of a file.
	blockSize = 128 << 10

	atHome   = "192.0.2.1 2016-02-20T00:00:45Z"
	combHead = `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] `
)

// TestOverlongText holds what is read of a line that is longer than 64 KiB.
func TestOverlongText(t *testing.T) {
	long := escapedBytes(MaxLine / 4)
	for _, test := range []struct{ name, format, line, want string }{
		{"agent", "combined", combHead + `"POST /a?b HTTP/1.1" 200 5 "-" "` + long + `"`, atHome + rr + "method=POST path=/a?b 200"},
		{"referer", "combined", combHead + `"POST /a HTTP/1.1" 200 5 "` + long + `" "x"`, atHome + rr + "method=POST path=/a 200"},
		{"behind the agent", "combined", combHead + `"POST /a HTTP/1.1" 200 5 "-" "x" "` + long + `"`, atHome + rr + "method=POST path=/a agent=x 200"},
		{"query", "combined", combHead + `"POST /a?` + long + ` HTTP/1.1" 200 5 "-" "x"`, atHome + " request method=POST path=/a?…"},
		{"path", "combined", combHead + `"POST /` + long + ` HTTP/1.1" 200 5 "-" "x"`, atHome + " request method=POST"},
		{"method", "combined", combHead + `"` + strings.Repeat("A", MaxLine) + ` /a HTTP/1.1" 200 5 "-" "x"`, atHome + " request"},
		{"user", "combined", `192.0.2.1 - ` + long + ` [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.1" 200 5 "-" "x"`, ""},
		{"a user who says the time", "combined", `192.0.2.1 - x [20/Feb/2016:00:00:45 +0000] ` + long + ` [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.1" 200 5 "-" "x"`, ""},
		{"vhost", "vhost_combined", `h ` + combHead + `"POST /a HTTP/1.1" 200 5 "-" "` + long + `"`, atHome + rr + "method=POST host=h path=/a 200"},
		{"syslog", "combined", `<190>Nov 21 09:54:00 web1 nginx: ` + combHead + `"POST /a HTTP/1.1" 200 5 "-" "` + long + `"`, atHome + rr + "method=POST path=/a 200"},
		{"a free field to the line's end", "$remote_addr $time_iso8601 $status $http_user_agent", "192.0.2.1 2016-02-20T00:00:45Z 200 " + long, atHome + rr + "200"},
		{"what stands behind a free field", "$remote_addr $time_iso8601 $http_user_agent $status", "192.0.2.1 2016-02-20T00:00:45Z 404 404 " + long + " 200", atHome + " request"},
		{"an address behind a free field", "$http_user_agent $remote_addr $time_iso8601 $status", "9.9.9.9 2016-02-20T00:00:45Z 404 " + long + " 192.0.2.1 2016-02-20T00:00:45Z 200", ""},
		{"tabs", "$msec\t$remote_addr\t$request_method\t$http_user_agent\t$request_uri", "1455926445\t192.0.2.1\tGET\t" + long + "\t/a", atHome + " request method=GET"},
		{"path by itself", "$msec $remote_addr \"$request_uri\" $status", "1455926445 192.0.2.1 \"/a?" + long + "\" 200", atHome + " request path=/a?…"},
		{"haproxy", "haproxy", `192.0.2.1:5 [20/Feb/2016:00:00:45.000] f b/s 0/0/0/0/0 200 5 - - ---- 0/0/0/0/0 0/0 "GET /` + long, atHome + rr + "method=GET 200"},
		{"alb", "alb", albHead + `403 - 34 366 "GET http://h:80/a?` + long + ` HTTP/1.1" "x"`, albWant + rr + "method=GET path=http://h:80/a?…"},
		{"alb, its agent", "alb", albHead + `403 - 34 366 "GET http://h:80/a HTTP/1.1" "` + long + `" - -`, albWant + rr + "method=GET host=h:80 path=/a 403"},
		{"squid", "squid", squidHead + `TCP_DENIED/403 411 GET http://h/` + long + ` - HIER_NONE/- -`, squidWant + rr + "method=GET 403"},
		{"no line of the log", "combined", "x " + long, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := Parser{parser: parserOf(t, test.format, "")}
			p := &Chunk{Text: []byte(test.line + "\n")}
			l.Parse(p)
			if len(p.Uncounted) != 1 {
				t.Fatalf("%d uncounted requests", len(p.Uncounted))
			}
			if test.want == "" {
				if len(p.Events) > 0 || p.Skipped != 1 {
					t.Fatalf("%s from a line that does not say so", shown(&p.Events[0]))
				}
				return
			}
			if len(p.Events) != 1 || p.Partial != 1 {
				t.Fatalf("%d events, %v", len(p.Events), p.Shown)
			}
			got := shown(&p.Events[0])
			if head, ok := strings.CutSuffix(test.want, "…"); ok && strings.HasPrefix(got, head) {
				got = test.want
			}
			if got != test.want {
				t.Errorf("\n got %.200s\nwant %s", got, test.want)
			}
			if u := p.Uncounted[0]; u.Addr != p.Events[0].Addr || u.Reason != edgeguard.FieldCut {
				t.Errorf("told as %+v", u)
			}
		})
	}
}

// TestOverlongExamples makes each field that a client writes long in turn: whatever is
// read of the line is of the address in it, and a line that is not read to its end is
// told of.
func TestOverlongExamples(t *testing.T) {
	for _, e := range loglinetest.Examples {
		fields := 0
		e.Hostile("192.0.2.1", 45, func() string { fields++; return "x" })
		for long := range fields {
			i := -1
			line := e.Hostile("192.0.2.1", 45, func() string {
				if i++; i == long {
					return strings.Repeat("x", MaxLine)
				}
				return "x"
			})
			l := Parser{parser: parserOf(t, e.Format, "")}
			l.Parse(&Chunk{Text: []byte(e.Head)})
			p := &Chunk{Text: []byte(line + "\n")}
			l.Parse(p)
			if len(p.Events)+int(p.Skipped) != 1 || p.Skipped+p.Partial > 0 && len(p.Uncounted) != 1 {
				t.Errorf("%s, field %d: %d events, %d skipped, %d uncounted", e.Name, long, len(p.Events), p.Skipped, len(p.Uncounted))
			}
			for i := range p.Events {
				if got := shown(&p.Events[i]); !strings.HasPrefix(got, atHome[:len(atHome)-len("00:45Z")]) {
					t.Errorf("%s, field %d: %.200s", e.Name, long, got)
				}
			}
		}
	}
}

// TestOverlongJSON holds that a long JSON line means what it means as a whole,
// and never what a client wrote.
func TestOverlongJSON(t *testing.T) {
	long := strings.Repeat("x", 2*blockSize)
	for _, test := range []struct{ name, line, want string }{
		{"caddy", `{"ts":1455926445,"request":{"client_ip":"192.0.2.1","method":"POST","uri":"/a","headers":{"X":["` + long + `"],"User-Agent":["y"]}},"status":401}`,
			atHome + rr + "method=POST path=/a agent=y 401"},
		{"the better name at the end", `{"client":"9.9.9.9","ts":1455926445,"ua":"y","x":"` + long + `","remote_addr":"192.0.2.1"}`, atHome + " request agent=y"},
		{"the proxy first", `{"realip_remote_addr":"10.0.0.1","ts":1455926445,"x":"` + long + `","remote_addr":"192.0.2.1"}`, atHome + " request proxied"},
		{"an address twice", `{"remote_addr":"192.0.2.1","ts":1455926445,"x":"` + long + `","remote_addr":"192.0.2.1"}`, ""},
		{"no end", `{"remote_addr":"192.0.2.1","ts":1455926445,"x":"` + long, ""},
		{"more behind it", `{"remote_addr":"192.0.2.1","ts":1455926445,"x":"` + long + `"} {}`, ""},
		{"a long path", `{"remote_addr":"192.0.2.1","ts":1455926445,"uri":"/` + long + `","path":"/b"}`, atHome + " request"},
		{"waf, long headers", `{"timestamp":1455926445000,"httpRequest":{"clientIp":"192.0.2.1","headers":[{"name":"X","value":"` + long + `"},{"name":"Host","value":"h"}],"uri":"/a","args":"b"}}`, atHome + " request path=/a?b"},
		{"waf, a long path", `{"timestamp":1455926445000,"httpRequest":{"clientIp":"192.0.2.1","uri":"/` + long + `","args":"b"}}`, atHome + " request"},
		{"waf, a long query", `{"timestamp":1455926445000,"httpRequest":{"clientIp":"192.0.2.1","uri":"/a","args":"` + long + `"}}`, atHome + " request path=/a?…"},
		{"waf, long elsewhere", `{"timestamp":1455926445000,"x":"` + long + `","httpRequest":{"headers":[{"name":"Host","value":"h"}],"uri":"/a","args":"b","clientIp":"192.0.2.1"}}`, atHome + " request host=h path=/a?b"},
		{"a long query", `{"remote_addr":"192.0.2.1","ts":1455926445,"uri":"/a?` + long + `"}`, atHome + " request path=/a?…"},
		{"a long request", `{"remote_addr":"192.0.2.1","ts":1455926445,"request":"GET /a?` + long + ` HTTP/1.1"}`, atHome + " request method=GET path=/a?…"},
		{"a long agent", `{"remote_addr":"192.0.2.1","ts":1455926445,"user_agent":"` + long + `","ua":"y"}`, atHome + " request"},
		{"a long host", `{"remote_addr":"192.0.2.1","ts":1455926445,"host":["` + long + `"]}`, atHome + " request"},
		{"a long key", `{"remote_addr":"192.0.2.1","ts":1455926445,"` + long + `":"/b"}`, atHome + " request"},
		{"a long address", `{"remote_addr":"` + long + `","ts":1455926445,"ip":"192.0.2.1"}`, ""},
		{"a long nest", `{"remote_addr":"192.0.2.1","ts":1455926445,"x":[` + strings.Repeat(`{"remote_addr":"9.9.9.9"},`, MaxLine) + `{}]}`, atHome + " request"},
		{"more than is read", `{"remote_addr":"192.0.2.1","ts":1455926445,"x":"` + strings.Repeat("x", 8<<20) + `"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, size := range []int{1 << 30, blockSize, 70_001} {
				p := inPieces(&Parser{parser: parserOf(t, "json", "")}, []byte(test.line+"\n"+`{"ip":"192.0.2.7","ts":1}`+"\n"), size)
				got := slices.Clone(p)
				want := test.want
				if head, ok := strings.CutSuffix(want, "…"); ok && len(got) > 0 && strings.HasPrefix(got[0], head) {
					got[0] = want
				}
				if last := "192.0.2.7 1970-01-01T00:00:01Z request"; want == "" && !slices.Equal(got, []string{last}) || want != "" && !slices.Equal(got, []string{want, last}) {
					t.Errorf("in pieces of %d: %.300q, want %q", size, got, want)
				}
			}
		})
	}
}

// TestOverlongEnvoy holds that a long line of Envoy, whose address lies behind the
// path, is read to its end.
func TestOverlongEnvoy(t *testing.T) {
	long := strings.Repeat("x", 2*blockSize)
	line := `[2016-04-15T20:17:00.310Z] "GET /` + long + ` HTTP/1.1" 403 - 0 19 0 - "192.0.2.1" "` + long + `" "id" "h" "-"`
	want := "192.0.2.1 2016-04-15T20:17:00.31Z" + rr + "method=GET host=h path=/" + long + " agent=" + long + " 403"
	for _, size := range []int{1 << 30, blockSize, 70_001} {
		if got := inPieces(&Parser{parser: parserOf(t, "envoy", "")}, []byte(line+"\n"), size); !slices.Equal(got, []string{want}) {
			t.Errorf("in pieces of %d: %.300q", size, got)
		}
	}
}

// inPieces parses a text that comes in chunks of at most a size, which end at a
// line's end where there is one, and shows its events.
func inPieces(l *Parser, text []byte, size int) (all []string) {
	c := &Chunk{Long: new(Long)}
	for rest := bytes.Clone(text); len(rest) > 0; rest = rest[len(c.Text):] {
		c.Text = rest[:min(size, len(rest))]
		end := bytes.LastIndexByte(c.Text, '\n') + 1
		if c.GoesOn = end == 0; end > 0 {
			c.Text = c.Text[:end]
		}
		l.Parse(c)
		for i := range c.Events {
			all = append(all, shown(&c.Events[i]))
		}
	}
	return all
}

// FuzzPieces holds that a JSON line means the same in pieces as in one, however
// it is cut: the twin has all of it in memory.
func FuzzPieces(f *testing.F) {
	for _, seed := range []string{
		`{"level":"info","ts":1455944445.5,"request":{"remote_ip":"10.0.0.1","client_ip":"192.0.2.1","method":"GET","host":"h:1","uri":"/\u00e9#\\\"","headers":{"User-Agent":["curl","x"],"X":[]}},"status":401}`,
		`{"a":1 , "b" :[ {"c":"}"},null] ,"remote_addr": "192.0.2.1","ts":1}  `, `<134>1 2024-06-20T11:47:56Z - h 2 - - {"ip":"192.0.2.1","ts":1}`, `{"timestamp":1,"httpRequest":{"clientIp":"192.0.2.1","headers":[ {"name":"Host","value":"h"}, {"name":"x"}],"uri":"/a" ,"args": "b"},"request":{}}`,
		`{}`, `{"a":}`, `{"ts":1,"ip":"192.0.2.1","ip":"1.1.1.1"}`,
	} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, line []byte, seed uint64) {
		if len(line) > MaxLine || bytes.IndexByte(line, '\n') >= 0 {
			return
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		var want, got edgeguard.Event
		whole := formats.NewJSON(time.UTC)
		why := scan.ParseLine(whole, bytes.Clone(line), &want)
		s := formats.NewJSON(time.UTC).(scan.Streamer).Stream()
		first := max(1, scan.SyslogPrefix(line)) // the first piece is a block, and has all of it
		for rest := line; len(rest) > 0; first = 1 {
			n := min(len(rest), first+rng.IntN(8))
			s.Feed(rest[:n])
			rest = rest[n:]
		}
		if gotWhy := s.End(&got); (gotWhy == scan.Read) != (why == scan.Read) || why == scan.Read && shown(&got) != shown(&want) {
			t.Fatalf("%q: whole %q %s, in pieces %q %s", line, why, shown(&want), gotWhy, shown(&got))
		}
	})
}

// FuzzHead holds that what is read of the beginning of a line is what the whole
// line says, or nothing.
func FuzzHead(f *testing.F) {
	f.Add([]byte(goodLine), uint16(60))
	f.Add([]byte(combHead+`"POST  /a?b#c HTTP/1.1 " 200 5 "-" "\xFF\"" "z"`), uint16(70))
	f.Add([]byte(`192.0.2.1 - a ["] [b [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.1" 200 5 "-" "x"`), uint16(40))
	f.Add([]byte(combHead+`"0  HTTP/1.1" 200 5 "-" "x"`), uint16(len(combHead)+3))
	f.Add([]byte(combHead+`"GET  HTTP/1.1?" 200 5 "-" "x"`), uint16(len(combHead)+15))
	f.Add([]byte(combHead+`"GET /a HTTP/1.1?" 200 5 "-" "x"`), uint16(len(combHead)+17))
	f.Add([]byte("9.9.9.9 2016-02-20T00:00:45Z 404 x 192.0.2.1 2016-02-20T00:00:45Z 200"), uint16(40))
	known := append(fuzzFormats, format{"$http_user_agent $remote_addr $time_iso8601 $status", ""},
		format{"$remote_addr $time_iso8601 $http_x \"$request_uri\" $status $http_y", ""})
	f.Fuzz(func(t *testing.T, line []byte, cut uint16) {
		if len(line) > MaxLine || bytes.IndexByte(line, '\n') >= 0 || int(cut) > len(line) {
			return
		}
		for _, ff := range known {
			h, ok := parserOf(t, ff.format, ff.head).(scan.HeadParser)
			if !ok {
				continue
			}
			var whole, head edgeguard.Event
			whyWhole := scan.ParseLine(parserOf(t, ff.format, ff.head), bytes.Clone(line), &whole)
			if why := h.Head(bytes.Clone(line[:cut]), &head); why != scan.Read && why != scan.CutShort || whyWhole != scan.Read {
				continue
			}
			checkEvent(t, ff.format, &head, line)
			if head.Addr != whole.Addr || head.Time != whole.Time || head.Known&edgeguard.FieldStatus != 0 && head.Status != whole.Status ||
				head.Known&edgeguard.FieldMethod != 0 && head.Method != whole.Method || head.Known&^whole.Known != 0 ||
				head.Known&edgeguard.FieldHost != 0 && head.Host != whole.Host || head.Known&edgeguard.FieldAgent != 0 && head.Agent != whole.Agent {
				t.Fatalf("%s: %q says %s, its first %d bytes %s", ff.format, line, shown(&whole), cut, shown(&head))
			}
			if a, _, _ := strings.Cut(head.Path, "?"); head.Known&edgeguard.FieldPath != 0 {
				if b, _, _ := strings.Cut(whole.Path, "?"); a != b {
					t.Fatalf("%s: the path of %q is %q, of its first %d bytes %q", ff.format, line, b, cut, a)
				}
			}
		}
	})
}
