package redis

import (
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// bulk is a string in RESP.
func bulk(text string) string { return "$" + strconv.Itoa(len(text)) + "\r\n" + text + "\r\n" }

// fake is a connection that reads a text, some bytes at a time.
type fake struct {
	net.Conn
	text io.Reader
	step int
}

func (f *fake) Read(p []byte) (int, error) { return f.text.Read(p[:min(len(p), f.step)]) }

func read(text string, step int) error {
	_, err := io.ReadAll(bound(&fake{text: strings.NewReader(text), step: step}))
	return err
}

// Answers up to the bounds are read, wherever they are cut, and however many follow
// each other; those above are an error.
func TestBounds(t *testing.T) {
	half := bulk(strings.Repeat("a", mostText/2))
	for _, test := range []struct {
		name, text string
		large      bool
	}{
		{"small ones", strings.Repeat("+OK\r\n:-1\r\n$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n-ERR 12 $9\r\n*3\r\n:1\r\n*1\r\n"+bulk("$999999999\r\n")+"+a\r\n", 5), false},
		{"the longest text", bulk(strings.Repeat("a", mostText)) + ":1\r\n", false},
		{"a longer text", "$" + strconv.Itoa(mostText+1) + "\r\n", true},
		{"a length of many digits", "$" + strings.Repeat("9", 40) + "\r\n", true},
		{"a long line", "-" + strings.Repeat("a", mostText+2), true},
		{"a long line without a kind", strings.Repeat("a", mostText+2), true},
		{"most values", "*" + strconv.Itoa(mostValues) + "\r\n" + strings.Repeat(":1\r\n", mostValues) + ":1\r\n", false},
		{"more values", "*" + strconv.Itoa(mostValues+1) + "\r\n", true},
		{"more values together", "*2\r\n*" + strconv.Itoa(mostValues-2) + "\r\n" + strings.Repeat(":1\r\n", mostValues-2) + "*1\r\n", true},
		{"many bytes in many answers", strings.Repeat(half, 2*mostBytes/mostText+2), false},
		{"many bytes in one", "*99\r\n" + strings.Repeat(half, 2*mostBytes/mostText+2), true},
	} {
		for _, step := range []int{1 << 20, 1000, 1} {
			if step == 1 && len(test.text) > 5<<20 {
				continue
			}
			err := read(test.text, step)
			if large := errors.Is(err, errLarge); large != test.large || !large && err != nil {
				t.Errorf("%s, read by %d: %v", test.name, step, err)
			}
		}
	}
}

// What go-redis examines between two uses is there where the connection has it.
func TestRaw(t *testing.T) {
	if _, ok := bound(&net.TCPConn{}).(syscall.Conn); !ok {
		t.Error("a TCP connection cannot be examined")
	}
	if _, ok := bound(&fake{}).(syscall.Conn); ok {
		t.Error("another kind can")
	}
}

// The scanner never fails on its own, and a small answer is never large.
func FuzzScan(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\na\r\n:5\r\n"), 3)
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		s := newAnswer()
		for rest := text; len(rest) > 0; {
			n := min(max(step, 1), len(rest))
			if !s.scan(rest[:n]) && len(text) < 4 {
				t.Errorf("%q is large", text)
			}
			rest = rest[n:]
		}
		if s.bytes < 0 && !s.failed || s.text < 0 {
			t.Errorf("%+v", s)
		}
	})
}
