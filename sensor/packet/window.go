package packet

import (
	"errors"
	"fmt"
	"io"
)

// maxCapture is the longest packet that is read, as in libpcap
// (MAXIMUM_SNAPLEN): a longer one is taken for damage.
const maxCapture = 256 << 10

// windowSize holds the longest record with its headers, and is small enough
// to stay in the processor's cache. It is all that a file can make us
// allocate for reading it.
const windowSize = maxCapture + 64<<10

// window is the part of the input that is in memory. Records are handed out as
// slices of it, without a copy: they hold until the next call.
//
// Not bufio.Reader: a record here costs no call while the window holds it.
type window struct {
	src      io.Reader
	buf      []byte
	from, to int   // what is not yet taken is buf[from:to]
	base     int64 // place of buf[0] in the input
	err      error // why src returns no more
	// idle is called before every read of src, which may block.
	idle func()
}

func newWindow(src io.Reader) *window {
	return &window{src: src, buf: make([]byte, windowSize), idle: func() {}}
}

// peek returns the next n bytes, or all that is left if that is less. n is at
// most windowSize.
func (w *window) peek(n int) []byte {
	if w.to-w.from < n {
		w.fill(n)
	}
	return w.buf[w.from:min(w.from+n, w.to)]
}

// fill reads until n bytes are there or the input has ended.
func (w *window) fill(n int) {
	copy(w.buf, w.buf[w.from:w.to])
	w.base += int64(w.from)
	w.to -= w.from
	w.from = 0
	for empty := 0; w.to < n && w.err == nil; {
		w.idle()
		var got int
		got, w.err = w.src.Read(w.buf[w.to:])
		w.to += got
		if got > 0 {
			empty = 0
		} else if empty++; empty == 100 && w.err == nil {
			w.err = io.ErrNoProgress
		}
	}
}

// skip takes the next n bytes, however many, and reports whether they were
// all there.
func (w *window) skip(n int64) bool {
	for n > 0 {
		got := len(w.peek(int(min(n, windowSize))))
		if got == 0 {
			return false
		}
		w.from += got
		n -= int64(got)
	}
	return true
}

// place is where in the input the next byte is.
func (w *window) place() int64 { return w.base + int64(w.from) }

// short is the error for a record that is cut off: the input's own, if it has
// one that is not the end.
func (w *window) short(what string) error {
	if w.err != nil && !errors.Is(w.err, io.EOF) && !errors.Is(w.err, io.ErrUnexpectedEOF) && !isDamage(w.err) {
		return w.err
	}
	if isDamage(w.err) {
		return w.damage("%v inside %s", w.err, what)
	}
	return w.damage("the file ends inside %s", what)
}

// end is the error for an input that ends between two records: io.EOF, unless
// the input says otherwise.
func (w *window) end() error {
	if errors.Is(w.err, io.EOF) {
		return io.EOF
	}
	if errors.Is(w.err, io.ErrUnexpectedEOF) {
		return w.damage("the compressed file ends too early")
	}
	if isDamage(w.err) {
		return w.damage("%v", w.err)
	}
	return w.err
}

// damage says what is wrong at the present place.
func (w *window) damage(format string, args ...any) error {
	return &damage{offset: w.place(), reason: fmt.Sprintf(format, args...)}
}
