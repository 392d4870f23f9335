package accesslog

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/logline"
)

// Reader reads one log. It is not safe for concurrent use, except for Stats'
// byte counts, which move while the caller waits.
type Reader struct {
	src    *source
	format *logline.Format
	strays *Strays // nil without a window
	blocks blocks
	lines  *logline.Parser
	long   logline.Long // used by the goroutine that parses

	stats Stats
	gaps  []logline.Gap
	err   error

	first   *page // read at Open, to look at
	current *page // what the caller has
	free    chan *page
	filled  chan *page
	parsed  chan *page
	done    chan struct{}
	running bool
	closed  bool
	workers sync.WaitGroup
}

// pages is how many go round: one at each of the three stations and one on
// its way.
const pages = 4

// Open opens a log by name ("-" is standard input), compressed or not. A nil
// format means: look at its first lines; [Reader.Format] says what it came to.
// The error names what is wrong with the file or the format. An empty file is
// none: it has no events.
func Open(name string, f *logline.Format, o Options) (*Reader, error) {
	src, err := openSource(name, &o)
	if err != nil {
		return nil, err
	}
	r := &Reader{
		src:    src,
		format: f,
		blocks: blocks{src: src, live: src.live},
		free:   make(chan *page, pages),
		filled: make(chan *page, pages),
		parsed: make(chan *page, pages),
		done:   make(chan struct{}),
	}
	if err := r.begin(&o); err != nil {
		_ = src.close()
		return nil, err
	}
	if o.Window > 0 {
		r.strays = NewStrays(batches(r.next), o.Window, r.stray)
	}
	return r, nil
}

// begin reads the first block, decides the format and reads a header.
func (r *Reader) begin(o *Options) error {
	r.first = &page{buf: make([]byte, blockSize)}
	r.first.Text = r.blocks.next(r.first.buf)
	r.first.GoesOn, r.first.Long, r.first.Origin = r.blocks.goesOn, &r.long, r
	if len(r.first.Text) == 0 && r.blocks.err != io.EOF {
		return r.src.explain(r.blocks.err, 0)
	}
	r.stats.Total = r.src.size
	if r.format == nil {
		var err error
		if r.format, err = logline.Detect(r.first.Text, o.Zone); err != nil {
			return fmt.Errorf("%s: %w", r.src.name, err)
		}
	}
	r.lines = r.format.Parser(r.src.name, o.Zone)
	r.lines.SetLatest(r.src.changed)
	rest, line, err := r.lines.Begin(r.first.Text)
	if err != nil {
		return fmt.Errorf("%s:%d: %w", r.src.name, line, err)
	}
	r.first.Text = rest
	return nil
}

// Format says which format is read, whether set or detected.
func (r *Reader) Format() *logline.Format { return r.format }

// Next returns the next events in the file's order; they and their strings are
// valid until the next call. At the end it returns io.EOF, or what was wrong with
// the file after the events that could be read.
func (r *Reader) Next() ([]edgeguard.Event, error) {
	if r.strays == nil {
		return r.next()
	}
	return r.strays.Next()
}

// batches is a source made of a function.
type batches func() ([]edgeguard.Event, error)

// Next implements [Source].
func (b batches) Next() ([]edgeguard.Event, error) { return b() }

var errClosed = errors.New("the log was closed")

func (r *Reader) next() ([]edgeguard.Event, error) {
	if r.closed {
		return nil, errClosed
	}
	r.run()
	for {
		if r.current != nil {
			r.free <- r.current
			r.current = nil
		}
		p, ok := <-r.parsed
		if !ok {
			if r.err == nil {
				r.err = io.EOF
				if err := r.src.explain(r.blocks.err, r.stats.Lines); err != nil {
					r.err = err
				}
			}
			return nil, r.err
		}
		r.current = p
		r.note(p)
		if len(p.Events) > 0 {
			return p.Events, nil
		}
	}
}

// run starts the goroutines, at the first call.
func (r *Reader) run() {
	if r.running {
		return
	}
	r.running = true
	for range pages - 1 {
		r.free <- &page{Chunk: logline.Chunk{Long: &r.long, Origin: r}}
	}
	if r.src.compressed {
		r.workers.Add(2)
		go r.fill(r.filled, func(*page) {})
		go r.parse()
		return
	}
	// A plain block costs less to read than to hand to another core.
	r.workers.Add(1)
	go r.fill(r.parsed, func(p *page) { r.lines.Parse(&p.Chunk) })
}

// fill reads blocks into free pages, and passes them on once they are prepared.
func (r *Reader) fill(to chan<- *page, prepare func(*page)) {
	defer r.workers.Done()
	defer close(to)
	p := r.first
	for {
		if len(p.Text) > 0 {
			prepare(p)
			to <- p // has room for all pages
			p = nil
		}
		if r.blocks.err != nil {
			return
		}
		if p == nil {
			select {
			case p = <-r.free:
			case <-r.done:
				return
			}
		}
		if p.buf == nil {
			p.buf = make([]byte, blockSize)
		}
		p.Text = r.blocks.next(p.buf)
		p.GoesOn = r.blocks.goesOn
	}
}

// parse makes the events of filled pages.
func (r *Reader) parse() {
	defer r.workers.Done()
	defer close(r.parsed)
	for p := range r.filled {
		select {
		case <-r.done:
			continue
		default:
		}
		r.lines.Parse(&p.Chunk)
		r.parsed <- p // has room for all pages
	}
}

// note adds a page to the totals.
func (r *Reader) note(p *page) {
	r.stats.Lines += p.Lines
	r.stats.Events += uint64(len(p.Events))
	r.stats.Skipped += p.Skipped
	r.stats.Partial += p.Partial
	r.stats.First = append(r.stats.First, p.Shown...)
	r.stats.Passed += p.Passed
	r.stats.Quiet += p.Quiet
	r.stats.Unread = p.Unread
	r.stats.Suppressed += p.Suppressed
	r.stats.Bare = p.Bare
	r.stats.Others = append(r.stats.Others, p.Others...)
	r.gaps = append(r.gaps, p.Gaps...)
	if extra := len(r.gaps) - maxGaps; extra > 0 {
		r.gaps = append(r.gaps[:0], r.gaps[extra:]...)
	}
}

// maxGaps bounds what is kept to number a stray's line. It is asked for soon
// after its page was read.
const maxGaps = 1 << 16

// stray counts an event that Strays has dropped.
func (r *Reader) stray(number uint64, ev *edgeguard.Event) {
	r.stats.Events--
	r.stats.Skipped++
	if len(r.stats.First) < 2*logline.MaxShown {
		text := ev.Addr.String() + " " + ev.Time.Format(time.RFC3339) + " " + ev.Method + " " + ev.Path
		r.stats.First = append(r.stats.First, logline.NewSkipped(r.src.name, r.lineOf(number), []byte(text), strayTime))
	}
}

const strayTime = "its time is far ahead of the lines around it"

// lineOf returns the line of an event by its number, 0 if it is not known.
func (r *Reader) lineOf(number uint64) uint64 {
	for i := len(r.gaps) - 1; i >= 0; i-- {
		if r.gaps[i].Event <= number {
			return number + r.gaps[i].Ahead
		}
	}
	return 0
}

// Stats says how far the reader is. First holds the first skipped lines and
// is the caller's only until the next call of Next.
func (r *Reader) Stats() Stats {
	s := r.stats
	s.Read = r.src.taken.Load()
	return s
}

// Close ends the reading and closes the file. The goroutines have ended when
// it returns, unless one still waits for standard input, which cannot be
// interrupted.
func (r *Reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	close(r.done)
	err := r.src.close()
	if !r.src.live {
		r.workers.Wait()
	}
	return err
}
