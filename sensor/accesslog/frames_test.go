package accesslog

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"edgeguard/internal/program"
)

// counted writes a message of syslog behind its length.
func counted(message string) string { return fmt.Sprintf("%d %s", len(message), message) }

func TestFrames(t *testing.T) {
	const long = "<134>" + "0123456789"
	for _, c := range []struct {
		name, sent, want string
		dropped          uint64
		err              error
	}{
		{"lines", "192.0.2.1 - -\n<134>x\n", "192.0.2.1 - -\n<134>x\n", 0, nil},
		{"lines that begin with a number", "200 192.0.2.1\n7 <\n", "200 192.0.2.1\n7 <\n", 0, nil},
		{"nothing", "", "", 0, nil},
		{"a number", "12", "12", 0, nil},
		{"a long number", "12345678 <1>x\n", "12345678 <1>x\n", 0, nil},
		{"messages", counted("<134>a") + counted("<1>b") + counted(""), "<134>a\n<1>b\n", 0, nil},
		{"a message that is all its end", counted("<134>a\n") + counted("<134>b\n"), "<134>a\n\n<134>b\n\n", 0, nil},
		{"a client's newline", counted("<134>a\n9 <134>b\nc") + counted("<134>d"), "<134>a 9 <134>b c\n<134>d\n", 0, nil},
		{"a ring that was full", counted("<134>a") + counted("<133>17 events dropped") + counted("<133>1 event dropped") + counted("<134>b"), "<134>a\n<134>b\n", 18, nil},
		{"only that", counted("<133>2 events dropped"), "", 2, nil},
		{"a client who says so", counted("<134>x 17 events dropped") + counted("<134>17 events dropped x"), "<134>x 17 events dropped\n<134>17 events dropped x\n", 0, nil},
		{"longer than the room", counted(strings.Repeat(long, 20000)) + counted("<1>b"), strings.Repeat(long, 20000) + "\n<1>b\n", 0, nil},
		{"no length", counted("<134>a") + "<134>b", "<134>a\n", 0, errFrame},
		{"an endless length", counted("<134>a") + "00000000 <134>b", "<134>a\n", 0, errFrame},
		{"cut short", counted("<134>a") + "100 <134>b", "<134>a\n<134>b", 0, nil},
		{"cut in the length", counted("<134>a") + "10", "<134>a\n", 0, nil},
	} {
		for _, way := range []func(io.Reader) io.Reader{
			func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader,
		} {
			var dropped uint64
			f := &frames{Reader: bufio.NewReaderSize(way(strings.NewReader(c.sent)), framesRoom), dropped: func(n uint64) { dropped += n }}
			got, err := io.ReadAll(f)
			if string(got) != c.want || err != c.err || dropped != c.dropped {
				t.Errorf("%s: %.200q, %v, %d dropped", c.name, got, err, dropped)
			}
		}
	}
}

// However the bytes arrive, and however much is asked for, each message is one line.
func TestFramesAtRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var sent, want strings.Builder
		for range 50 {
			message := "<134>" + strings.Repeat("a\n<", rnd.IntN(40)) + "z"
			sent.WriteString(counted(message))
			want.WriteString(strings.ReplaceAll(message, "\n", " ") + "\n")
		}
		f := &frames{Reader: bufio.NewReaderSize(iotest.HalfReader(strings.NewReader(sent.String())), maxNotice+rnd.IntN(100))}
		var got strings.Builder
		for err := error(nil); err == nil; {
			b := make([]byte, 1+rnd.IntN(60))
			var n int
			n, err = f.Read(b)
			got.Write(b[:n])
		}
		if got.String() != want.String() {
			t.Fatalf("%.300q\nis read as\n%.300q", sent.String(), got.String())
		}
	}
}

// A listener reads messages with their lengths on one connection and lines on another, and says what
// the sender could not send.
func TestListenFrames(t *testing.T) {
	path := socketPath(t)
	l := listen(t, &heard{}, ListenConfig{Live: Live{Format: format("combined")}, Address: "unix:" + path})
	a, b := dial(t, "unix", path), dial(t, "unix", path)
	framed := func(i int) string {
		return counted("<134>Nov 21 08:17:11 eg: " + strings.TrimSuffix(numbered(i), "\n"))
	}
	send(t, a, framed(0)+framed(1)+counted("<133>3 events dropped")+framed(2)[:40])
	send(t, b, numbered(3))
	program.Eventually(t, "three lines", func() bool { once, _ := l.heard.of(10); return once == 3 })
	send(t, a, framed(2)[40:])
	program.Eventually(t, "four lines", func() bool { once, _ := l.heard.of(10); return once == 4 })
	if s := l.Stats(); s.Dropped != 3 || s.Skipped != 0 || s.Broken != 0 || s.Lines != 4 {
		t.Errorf("%+v", s)
	}
	send(t, a, "<134>no length")
	program.Eventually(t, "the connection is closed", func() bool { return l.Stats().Open == 1 })
	if s := l.Stats(); s.Broken != 1 {
		t.Errorf("%+v", s)
	}
}
