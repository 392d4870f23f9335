package accesslog

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// source is the bytes of one log: a file, or standard input,
// decompressed if they are gzip's.
type source struct {
	io.Reader
	name string
	file *os.File // nil for standard input
	size int64    // bytes on disk, 0 if not known
	// changed is when it was last written to: after all that its lines report.
	changed time.Time
	taken   atomic.Int64
	// live says that the bytes come as they are written, so that waiting for a
	// full block would hold back what is there.
	live       bool
	compressed bool
}

// openSource opens a file, or standard input for "-".
func openSource(name string, o *Options) (*source, error) {
	if name == "-" {
		return newSource("standard input", nil, o.stdin(), true)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err // it says "stat NAME: no such file or directory"
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory: name the log files in it", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	s, err := newSource(name, f, f, !info.Mode().IsRegular())
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	if info.Mode().IsRegular() {
		s.size, s.changed = info.Size(), info.ModTime()
	}
	return s, nil
}

// newSource looks at the first bytes, which name gzip (RFC 1952, 2.3.1).
func newSource(name string, file *os.File, r io.Reader, live bool) (*source, error) {
	s := &source{name: name, file: file, live: live, changed: time.Now()}
	buffered := bufio.NewReaderSize(counting{r, &s.taken}, 64<<10)
	s.Reader = buffered
	magic, err := buffered.Peek(3)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if string(magic) != "\x1f\x8b\x08" {
		return s, nil
	}
	z, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, fmt.Errorf("%s: its gzip header is damaged: %w", name, err)
	}
	s.Reader, s.compressed = z, true
	return s, nil
}

// counting counts the bytes that pass.
type counting struct {
	r io.Reader
	n *atomic.Int64
}

func (c counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// explain names the place of a read error and what it means.
func (s *source) explain(err error, lines uint64) error {
	switch {
	case err == nil || err == io.EOF:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: the compressed file is cut off after line %d; the lines before it were used", s.name, lines)
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return fmt.Errorf("%s: the compressed file is damaged after line %d; the lines before it were used: %w", s.name, lines, err)
	}
	return fmt.Errorf("%s: after line %d; the lines before it were used: %w", s.name, lines, err)
}

// close closes the file. Standard input is left to the process.
func (s *source) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
