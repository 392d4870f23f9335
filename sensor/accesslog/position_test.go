package accesslog

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"
	"time"

	"edgeguard/logline"
)

// TestMark holds a mark's context against the bytes themselves.
func TestMark(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var m mark
		var all []byte
		for range rng.IntN(20) {
			b := make([]byte, rng.IntN(2*contextSize)>>rng.IntN(6))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			m, all = m.after(b), append(all, b...)
			want := all[max(0, len(all)-contextSize):]
			if !bytes.Equal(m.context(), want) || m.offset != int64(len(all)) {
				t.Fatalf("at %d of %d: %x, want %x", m.offset, len(all), m.context(), want)
			}
		}
	}
}

// FuzzTail holds that the lines of a file are those between its newlines,
// however it grows and wherever the reading starts again.
func FuzzTail(f *testing.F) {
	f.Add([]byte("a\nbc\n\x00\x00d\ne"), uint16(3))
	f.Add([]byte("\n\x00\n"), uint16(52))
	f.Add(append(bytes.Repeat([]byte("x"), 70000), "\ny\n"...), uint16(60000))
	f.Fuzz(func(t *testing.T, text []byte, step uint16) {
		if len(text) > 4*blockSize || int(step) < len(text)/8 {
			return
		}
		name := write(t, nil)
		w, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		var got []byte
		place := Place{Before: (&mark{}).hash()}
		buf := make([]byte, contextSize+blockSize)
		for rest := text; ; {
			n := min(int(step)+1, len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
			r, err := openTail(name)
			if err != nil || !r.resume(&place) {
				t.Fatal(err, place)
			}
			got = append(got, readAll(t, r, buf)...)
			place = r.place()
			r.file.Close()
			if len(rest) == 0 {
				break
			}
		}
		if want := wholeLines(text); !bytes.Equal(wholeLines(got), want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// readAll reads to the end, as a follower does. A long line ends with its
// newline, which is passed over with the rest of it.
func readAll(t *testing.T, r *tail, buf []byte) (all []byte) {
	for {
		text, what, err := r.next(buf)
		if err != nil || what == rewound {
			t.Fatal(what, err)
		}
		if what == atEnd {
			return all
		}
		lines, next := r.cut(text)
		if next.offset == r.mark.offset {
			return all
		}
		all = append(all, lines...)
		if next.inside && len(lines) > 0 {
			all = append(all, '\n')
		}
		r.mark = next
	}
}

// wholeLines is a slow twin: one line after the other, NULs before a line left
// out (inside a block the parser does that), and of a long line its beginning.
func wholeLines(text []byte) (all []byte) {
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		line := text
		if end >= 0 {
			line = text[:end]
		}
		line = bytes.TrimLeft(line, "\x00")
		if end < 0 && len(line) <= logline.MaxLine {
			return all
		}
		all = append(append(all, line[:min(len(line), logline.MaxLine+1)]...), '\n')
		if end < 0 {
			return all
		}
		text = text[end+1:]
	}
	return all
}

// TestPosition holds that a position survives JSON.
func TestPosition(t *testing.T) {
	l := newLog(t)
	f := follow(t, &heard{}, FollowConfig{File: l.path, Beginning: true})
	l.lines(7)
	f.all(t, 7)
	f.stop()
	p := f.Position()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back Position
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if !back.Seen.Equal(p.Seen) || time.Since(p.Seen) > time.Hour || !reflect.DeepEqual(back.Files, p.Files) || p.Files[0].Offset == 0 {
		t.Errorf("%s\nfrom %+v", b, p)
	}
}

func TestIsRotated(t *testing.T) {
	for _, test := range []struct {
		base, name string
		want       bool
	}{
		{"access.log", "access.log.1", true},
		{"access.log", "access.log.10", true},
		{"access.log", "access.log-20261121", true},
		{"access.log", "access.log-20261121-1732183200", true},
		{"access.log", "access-20261121.log", true},
		{"access.log", "access-2026-11-21.log", true},
		{"access", "access.1", true},
		{"access.log", "access.log", false},
		{"access.log", "access.log.1.gz", false},
		{"access.log", "access.log-ssl", false},
		{"access.log", "access-ssl.log", false},
		{"access.log", "access.log.", false},
		{"access.log", "access.log2", false},
		{"access.log", "other_access.log.1", false},
		{"access.log", "error.log.1", false},
	} {
		if got := isRotated(test.base, test.name); got != test.want {
			t.Errorf("%s of %s: %v", test.name, test.base, got)
		}
	}
}
