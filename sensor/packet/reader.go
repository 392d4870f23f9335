package packet

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"

	"edgeguard"
)

// Reader reads a capture, or an interface. Its own goroutine reads and decodes ahead; it
// ends at the end of the capture or on Close.
type Reader struct {
	name string   // for errors
	file *os.File // what Close closes; nil where the input is the caller's
	size int64
	read *counter
	ring *ring // nil for a capture

	ready chan *batch   // filled, in order; closed at the end
	spare chan *batch   // empty
	quit  chan struct{} // closed by Close
	once  sync.Once
	last  *batch // what Next returned
	err   error  // why ready was closed; nil for the end. Set before that

	mu    sync.Mutex // guards stats
	stats Stats
}

// Open opens a capture, or standard input for "-". Its error names the file
// and says what to do if it is not a capture.
func Open(name string, o Options) (*Reader, error) {
	if name == "-" {
		return New(os.Stdin, "standard input", o)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err // names the file
	}
	r, err := open(f, name, f, o)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return r, nil
}

// New reads a capture from src; name is what errors call it. src stays the
// caller's: Close does not close it, and if a read of src is under way, the
// goroutine ends only after it.
func New(src io.Reader, name string, o Options) (*Reader, error) {
	return open(src, name, nil, o)
}

func open(src io.Reader, name string, f *os.File, o Options) (*Reader, error) {
	o, err := o.check()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	r := newReader(name)
	r.file, r.read.src = f, src
	if f != nil {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			r.size = info.Size()
		}
	}
	plain, err := inflate(r.read)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	w := newWindow(plain)
	source, err := identify(w)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	go newPump(r, w, source, newDecoder(o)).run()
	return r, nil
}

// newReader returns a reader with its batches, of an input that is still to be set.
func newReader(name string) *Reader {
	r := &Reader{
		name:  name,
		read:  &counter{},
		ready: make(chan *batch, batches),
		spare: make(chan *batch, batches),
		quit:  make(chan struct{}),
	}
	for range batches {
		r.spare <- newBatch()
	}
	return r
}

// inflate returns the input without its compression, if it has one.
func inflate(src io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(src, 16)
	head, err := b.Peek(2)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if !isGzip(head) {
		return b, nil
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(b, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	return z, nil
}

// identify returns which of the formats the input has.
func identify(w *window) (records, error) {
	head := w.peek(12)
	switch sniff(head) {
	case formatPcap:
		return openPcap(w)
	case formatPcapng:
		return &pcapng{w: w}, nil
	}
	if err := w.end(); len(head) == 0 && err != io.EOF {
		return nil, err
	}
	if len(head) == 0 {
		return nil, errors.New("the file is empty: a pcap or pcapng capture was expected")
	}
	return nil, fmt.Errorf("neither pcap nor pcapng, it begins with % x: write captures with tcpdump -w, "+
		"and convert other formats with editcap -F pcapng", head[:min(4, len(head))])
}

// Next returns the next events, at least one, in the order of the file. They
// and their strings hold until the next call. Its error is io.EOF at the end,
// also of a damaged or cut-off file (see Stats), and else the input's.
func (r *Reader) Next() ([]edgeguard.Event, error) {
	if r.last != nil {
		r.spare <- r.last
		r.last = nil
	}
	b, ok := <-r.ready
	if !ok {
		if r.err != nil {
			return nil, fmt.Errorf("read %s: %w", r.name, r.err)
		}
		return nil, io.EOF
	}
	r.last = b
	return b.events, nil
}

// Stats says what was read so far. Safe for concurrent use.
func (r *Reader) Stats() Stats {
	r.mu.Lock()
	s := r.stats
	s.NotIP = maps.Clone(s.NotIP)
	r.mu.Unlock()
	s.BytesRead = r.read.read.Load()
	s.BytesTotal = r.size
	if r.ring != nil {
		s.Dropped = r.ring.dropped()
	}
	return s
}

// Close ends reading. It may be called at any time, and more than once. After
// it Next returns what was already decoded, and then io.EOF.
func (r *Reader) Close() error {
	var err error
	r.once.Do(func() {
		close(r.quit)
		if r.file != nil {
			err = r.file.Close()
		}
		if r.ring != nil {
			r.ring.end()
		}
	})
	return err
}
