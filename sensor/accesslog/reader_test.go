package accesslog

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/logline"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// drain reads everything and returns the events, cloned, and what ended them.
func drain(src Source) ([]edgeguard.Event, error) {
	var all []edgeguard.Event
	for {
		batch, err := src.Next()
		if err != nil {
			return all, err
		}
		for i := range batch {
			all = append(all, clone(&batch[i]))
		}
	}
}

func compressed(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func write(t testing.TB, b []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// format returns a format by its name.
func format(name string) *logline.Format {
	f, err := logline.ParseFormat(name)
	if err != nil {
		panic(err)
	}
	return f
}

const goodLine = `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12 "-" "x"` + "\n"

func TestReader(t *testing.T) {
	log := combinedLog(5000) // four blocks
	z := compressed(t, log)
	for _, test := range []struct {
		name            string
		file            []byte
		events, skipped uint64
		err             string // "" for io.EOF
		first           string // the first skipped line
	}{
		{"plain", log, 5000, 0, "", ""},
		{"no newline at the end", bytes.TrimSuffix(log, []byte("\n")), 5000, 0, "", ""},
		{"gzip", z, 5000, 0, "", ""},
		{"gzip, two members", append(bytes.Clone(z), z...), 10000, 0, "", ""},
		{"gzip, cut off", z[:len(z)*2/3], 0, 0, "is cut off after line ", ""},
		{"gzip, damaged", append(bytes.Clone(z[:len(z)-6]), 1, 2, 3, 4, 5, 6), 0, 0, "is damaged after line 5000", ""},
		{"gzip, something after it", append(bytes.Clone(z), "xyz"...), 0, 0, "after line 5000", ""},
		{"empty", nil, 0, 0, "", ""},
		{"empty, compressed", compressed(t, nil), 0, 0, "", ""},
		{"blank lines", []byte("\n\r\n" + goodLine + "\n\n"), 1, 0, "", ""},
		{"Windows, byte order mark, NULs", []byte("\xEF\xBB\xBF" + strings.ReplaceAll(goodLine, "\n", "\r\n") + strings.Repeat("\x00", 1000) + goodLine), 2, 0, "", ""},
		{"a broken line", []byte(goodLine + goodLine + "\x1b[2Jnot a line\n" + goodLine), 3, 1, "", `access.log:3: not of this format: \x1b[2Jnot a line`},
		{"64 KiB and more", []byte(goodLine + strings.Replace(goodLine, "x", strings.Repeat("x", logline.MaxLine), 1) + goodLine), 3, 0, "", "access.log:2: the end of the path or of another field is missing: raise the limits of the server's log: 192.0.2.1"},
		{"just under", []byte(goodLine + strings.Replace(goodLine, "x", strings.Repeat("x", logline.MaxLine-len(goodLine)), 1) + goodLine), 3, 0, "", ""},
		{"a block and more", []byte(goodLine + strings.Replace(goodLine, "x", strings.Repeat("x", 3*blockSize+5), 1) + goodLine), 3, 0, "", "access.log:2: the end of the path"},
		{"a long line ends the file, and fills its blocks", []byte(goodLine + strings.Replace(goodLine, "x\"\n", strings.Repeat("x", 3*blockSize-len(goodLine)+3), 1)), 2, 0, "", "access.log:2: the end of the path"},
		{"a long line ends the file", []byte(goodLine + strings.Repeat("y", 2*blockSize)), 1, 1, "", "access.log:2: no address where the format has one: yyy"},
		{"a long line of NULs, then a line", []byte(goodLine + strings.Repeat("\x00", 2*blockSize) + "\n" + goodLine), 2, 0, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := Open(write(t, test.file), nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			events, err := drain(r)
			s := r.Stats()
			if test.err == "" && err != io.EOF || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("ended with %v, want %q", err, test.err)
			}
			if test.err == "" && (s.Events != test.events || s.Skipped != test.skipped || s.Read != s.Total || s.Total != int64(len(test.file))) {
				t.Errorf("stats %+v; want %d events, %d skipped", s, test.events, test.skipped)
			}
			if uint64(len(events)) != s.Events {
				t.Errorf("%d events, stats say %d", len(events), s.Events)
			}
			if test.first != "" && (len(s.First) == 0 || !strings.Contains(s.First[0].String(), test.first)) {
				t.Errorf("first skipped %v, want %q", s.First, test.first)
			}
			if again, err2 := r.Next(); len(again) > 0 || err2 == nil || err2.Error() != err.Error() {
				t.Errorf("after the end: %d events, %v; want %v again", len(again), err2, err)
			}
		})
	}
}

// TestCutOff holds that half a line is never taken for a whole one: half an
// address is another address.
func TestCutOff(t *testing.T) {
	f, err := logline.ParseFormat("csv:time=t,addr=a")
	if err != nil {
		t.Fatal(err)
	}
	log := []byte("t,a\n" + strings.Repeat("1455944445,192.0.2.111\n", 100))
	z := compressed(t, log)
	for cut := 40; cut < len(z)-8; cut++ {
		r, err := Open(write(t, z[:cut]), f, Options{})
		if err != nil {
			continue // not even the header line
		}
		events, err := drain(r)
		r.Close()
		if err == io.EOF || len(events) > 100 {
			t.Fatalf("cut at %d: %d events, %v", cut, len(events), err)
		}
		for _, ev := range events {
			if ev.Addr.String() != "192.0.2.111" {
				t.Fatalf("cut at %d: event of %v", cut, ev.Addr)
			}
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	csv, err := logline.ParseFormat("csv:time=t,addr=a")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, file string
		format     *logline.Format
		want       string
	}{
		{"missing", filepath.Join(dir, "none.log"), nil, "no such file"},
		{"directory", dir, nil, "is a directory: name the log files in it"},
		{"no format known", write(t, []byte("hello\nworld\n")), nil, "unknown log format: give it with --format: auto, combined"},
		{"few lines fit", write(t, []byte("a\nb\nc\n"+goodLine)), nil, "unknown log format"},
		{"delimited", write(t, []byte("datetime,host,src\n1,2,3\n")), nil, `it may be a delimited file: its first line is "datetime,host,src"`},
		{"column missing", write(t, []byte("\nwhen,a\n1,2\n")), csv, `access.log:2: the header has no column "t"`},
		{"gzip header only", write(t, []byte("\x1f\x8b\x08")), nil, "gzip header is damaged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Open(test.file, test.format, Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestDetect(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{goodLine, "combined"},
		{`"` + strings.TrimSpace(goodLine) + `"`, "combined"},
		{"<190>Nov 21 09:54:00 web1 nginx: " + goodLine, "combined"},
		{"www.example.org:80 " + goodLine, "vhost_combined"},
		{`{"ts":1455944445,"request":{"remote_ip":"192.0.2.1"},"status":200}`, "json"},
		{`Nov 14 22:45:27 test haproxy[760]: 192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main app/app1 1939/0/1/0/1940 403 5168 - - ---- 3/3/0/0/0 0/0 "GET / HTTP/1.1"`, "haproxy"},
	} {
		r, err := Open("-", nil, Options{Stdin: strings.NewReader("# a comment\n" + test.line + "\n")})
		if err != nil {
			t.Errorf("%s: %v", test.line, err)
			continue
		}
		events, err := drain(r)
		if r.Format().String() != test.want || len(events) != 1 || err != io.EOF {
			t.Errorf("%s: %s, %d events, %v; want %s", test.line, r.Format(), len(events), err, test.want)
		}
		r.Close()
	}
}

// endless is a line without an end, up to a size.
type endless struct{ left int }

func (e *endless) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(b), e.left)
	for i := range b[:n] {
		b[i] = 'a'
	}
	e.left -= n
	return n, nil
}

func TestEndlessLineInConstantMemory(t *testing.T) {
	f, err := logline.ParseFormat("combined")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Open("-", f, Options{Stdin: io.MultiReader(&endless{1 << 30}, strings.NewReader("\n"+goodLine))})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	events, err := drain(r)
	runtime.ReadMemStats(&after)
	if s := r.Stats(); len(events) != 1 || s.Skipped != 1 || err != io.EOF {
		t.Errorf("%d events, %+v, %v", len(events), s, err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("allocated %d bytes for a line of 1 GiB", grown)
	}
}

// TestLiveInput holds that a line is passed on before the next is written.
func TestLiveInput(t *testing.T) {
	in, out := io.Pipe()
	go io.WriteString(out, goodLine)
	r, err := Open("-", nil, Options{Stdin: in})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		batch, err := r.Next()
		if err != nil || len(batch) != 1 {
			t.Fatalf("%d events, %v", len(batch), err)
		}
		go io.WriteString(out, goodLine)
	}
	if batch, err := r.Next(); err != nil || len(batch) != 1 {
		t.Fatalf("%d events, %v", len(batch), err)
	}
	out.Close()
	if _, err := r.Next(); err != io.EOF {
		t.Fatal(err)
	}
	r.Close()
}

func TestCloseEarly(t *testing.T) {
	name := write(t, combinedLog(20_000))
	for reads := range 3 {
		r, err := Open(name, nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range reads {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error("second time:", err)
		}
		if _, err := r.Next(); err == nil || err == io.EOF {
			t.Errorf("after Close: %v", err)
		}
	}
}

// TestStrayIsShown holds that a line dated 2099 is left out, with its number,
// where lines before it were skipped and the header counts as one.
func TestStrayIsShown(t *testing.T) {
	var log strings.Builder
	for i := range 5000 {
		switch i {
		case 10, 2000:
			log.WriteString("\nbroken\n")
		case 3000:
			log.WriteString(strings.Replace(goodLine, "2016", "2099", 1))
		}
		log.WriteString(strings.Replace(goodLine, "00:00:45", fmt.Sprintf("00:%02d:%02d", i/60%60, i%60), 1))
	}
	r, err := Open(write(t, []byte(log.String())), nil, Options{Window: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	events, err := drain(r)
	s := r.Stats()
	if len(events) != 5000 || s.Events != 5000 || s.Skipped != 3 || err != io.EOF {
		t.Fatalf("%d events, %+v, %v", len(events), s, err)
	}
	if got, want := s.First[2].String(), "access.log:3005: its time is far ahead of the lines around it: 192.0.2.1 2099-02-20T00:00:45Z GET /"; !strings.HasSuffix(got, want) {
		t.Errorf("shown as %s\nwant %s", got, want)
	}
}
