package packet

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

func TestWindowAgainstBytes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, 3*windowSize)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	for _, src := range []io.Reader{
		bytes.NewReader(data), iotest.HalfReader(bytes.NewReader(data)), iotest.DataErrReader(bytes.NewReader(data)),
	} {
		w := newWindow(src)
		rest := data
		for len(rest) > 0 {
			n := random.IntN(windowSize + 1)
			if random.IntN(2) == 0 {
				n = random.IntN(100)
			}
			if got := w.peek(n); !bytes.Equal(got, rest[:min(n, len(rest))]) {
				t.Fatalf("peek %d at %d differs", n, w.place())
			}
			n = min(n, len(rest))
			if random.IntN(2) == 0 {
				n = random.IntN(len(rest) + 1)
			}
			if !w.skip(int64(n)) {
				t.Fatalf("skip %d at %d", n, w.place())
			}
			rest = rest[n:]
			if w.place() != int64(len(data)-len(rest)) {
				t.Fatalf("place %d, want %d", w.place(), len(data)-len(rest))
			}
		}
		if len(w.peek(1)) != 0 || w.end() != io.EOF || w.skip(1) {
			t.Error("something after the end")
		}
	}
}

func TestWindowErrors(t *testing.T) {
	broken := errors.New("input/output error")
	w := newWindow(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)))
	if string(w.peek(5)) != "abc" || w.short("x") != broken {
		t.Errorf("short gives %v", w.short("x"))
	}
	w.skip(3)
	if w.end() != broken {
		t.Errorf("end gives %v", w.end())
	}
	w = newWindow(stuck{})
	if w.peek(1); w.err != io.ErrNoProgress {
		t.Errorf("a reader that gives nothing: %v", w.err)
	}
}

// stuck reads nothing, for ever.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }
