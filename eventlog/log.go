package eventlog

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"
)

// Config is where and how much is kept.
type Config struct {
	// Folder is for the log alone; empty keeps the newest in memory.
	Folder string
	// Behind is what the numbers of a log without entries begin behind. Where it grows from run to
	// run, no reader takes one log's numbers for another's.
	Behind uint64
	Bytes  int64         // of all sections together
	Keep   time.Duration // how long
}

func (c *Config) sectionBytes(r Section) int64 { return c.Bytes / 16 * share[r] }

func (c *Config) segmentBytes(r Section) int64 {
	return min(max(c.sectionBytes(r)/16, leastSegment), mostSegment)
}

// Log keeps entries. It is safe for concurrent use. Make one with [New].
type Log struct {
	config Config
	full   chan struct{} // holds one while many bytes wait
	disk   sync.Mutex    // held while files are changed; guards root; taken before mu
	root   *os.Root      // nil while it is in memory
	refuse error         // why that is, where it has a folder: each flush tries that again
	last   time.Time     // of the last flush

	mu       sync.Mutex // guards the fields below
	number   uint64     // of the last entry
	behind   uint64     // what the numbers of this log begin behind
	gone     uint64     // number up to which some were removed
	sections [sections]section
	lost     uint64
}

// New returns a log in memory, until [Log.Open].
func New(c Config) *Log {
	l := &Log{config: c, full: make(chan struct{}, 1), number: c.Behind, behind: c.Behind}
	for i := range l.sections {
		l.sections[i].which = Section(i)
	}
	return l
}

// Open reads the folder, which it makes if it is not there. After an error that leaves
// no folder the log stays in memory; another names a file that is not read.
func (l *Log) Open() error {
	if l.config.Folder == "" {
		return nil
	}
	l.disk.Lock()
	defer l.disk.Unlock()
	return l.open()
}

// open is Open. It needs disk.
func (l *Log) open() error {
	_ = os.Mkdir(l.config.Folder, 0o700) // or it is there
	root, err := os.OpenRoot(l.config.Folder)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.refuse = err
		return err
	}
	l.root, l.refuse = root, nil
	first, last, gone := uint64(math.MaxUint64), uint64(0), uint64(0) // first if it is kept
	for i := range l.sections {
		r := &l.sections[i]
		err = errors.Join(err, r.open(root))
		for _, s := range r.segments {
			if last = max(last, s.Last); s.number == 1 && s.First > 0 {
				first = min(first, s.First)
			}
		}
		if len(r.segments) > 0 && r.segments[0].number > 1 {
			gone = max(gone, r.segments[0].First-min(r.segments[0].First, 1))
		}
	}
	if last > 0 {
		l.renumber(last + mostUnwritten)
		if l.behind = first - 1; first == math.MaxUint64 {
			l.behind = 0
		}
		l.gone = max(l.gone, gone)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.config.Folder, err)
	}
	return nil
}

// renumber has what was added before the log was open come after what it had. It needs mu.
func (l *Log) renumber(last uint64) {
	for i := range l.sections {
		r := &l.sections[i]
		early := r.pending
		r.pending = nil
		for len(early) > 0 {
			size := frameSize(early)
			e, _ := readFrame(early[:size])
			e.Number += last - l.behind
			r.pending, early = appendFrame(r.pending, &e), early[size:]
		}
	}
	l.number += last - l.behind
	if l.gone > l.behind {
		l.gone += last - l.behind
	}
}

// Add adds an entry. It never waits for the disk: what finds no room among the bytes that
// wait for it is lost, and counted. It returns the entry's number, 0 for one that is lost.
func (l *Log) Add(to Section, e Entry) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.sections[to]
	switch {
	case len(r.pending) < mostPending[to]:
	case l.config.Folder == "" || l.refuse != nil:
		l.gone = max(l.gone, r.trim())
	default:
		l.lost++
		return 0
	}
	l.number++
	e.Number = l.number
	r.pending = appendFrame(r.pending, &e)
	if to != Crossings && len(r.pending) > mostPending[to]/4 {
		select {
		case l.full <- struct{}{}:
		default:
		}
	}
	return e.Number
}

// Whole reports whether all is kept that was added behind a number of this log, 0 for the first.
func (l *Log) Whole(after uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if after == 0 {
		after = l.behind
	}
	return l.behind <= after && l.gone <= after && after <= l.number
}

// Newest returns the number of the last entry.
func (l *Log) Newest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.number
}

// Full receives when a flush must not wait for the next second.
func (l *Log) Full() <-chan struct{} { return l.full }

// Lost returns how many entries found no room since the last call.
func (l *Log) Lost() (n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, l.lost = l.lost, 0
	return n
}

// Flush writes what waits, seals what is full, and removes what is too much or too old.
// What could not be written is written by a later one.
func (l *Log) Flush(now time.Time) (err error) {
	l.disk.Lock()
	defer l.disk.Unlock()
	if l.root == nil && l.refuse == nil {
		return nil
	}
	if l.root == nil {
		if err = l.open(); l.root == nil {
			return err
		}
	}
	passed := min(max(now.Sub(l.last), 0), mostPassed)
	l.last = now
	for i := range l.sections {
		r := &l.sections[i]
		err = errors.Join(err, l.writeSection(r), l.turn(r, now, passed))
	}
	return err
}

// Close flushes a last time, and closes the files.
func (l *Log) Close(now time.Time) error {
	err := l.Flush(now)
	l.disk.Lock()
	defer l.disk.Unlock()
	for i := range l.sections {
		if f := l.sections[i].file; f != nil {
			err = errors.Join(err, f.Sync(), f.Close())
			l.sections[i].file = nil
		}
	}
	if l.root != nil {
		err = errors.Join(err, l.root.Close())
	}
	return err
}

// trim keeps the newest of a section that is in memory: half of what may wait. It returns the
// number of the last one that is not kept. It needs mu.
func (r *section) trim() (gone uint64) {
	rest := r.pending
	for len(rest) > mostPending[r.which]/2 {
		size := frameSize(rest)
		e, _ := readFrame(rest[:size])
		gone, rest = e.Number, rest[size:]
	}
	r.pending = append([]byte(nil), rest...)
	return gone
}

// writeSection writes what waits in a section. It needs disk.
func (l *Log) writeSection(r *section) error {
	l.mu.Lock()
	frames := r.pending
	r.writing, r.pending = frames, nil
	l.mu.Unlock()
	var err error
	if len(frames) > 0 && r.file == nil {
		err = l.begin(r)
	}
	if len(frames) > 0 && err == nil {
		err = r.write(frames)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		r.pending = append(frames, r.pending...)
	case len(frames) > 0:
		s := r.segments[len(r.segments)-1]
		s.summary = r.noted(frames)
		s.disk = int64(s.Frames)
	}
	r.writing = nil
	return err
}

// begin makes the next segment of a section.
func (l *Log) begin(r *section) error {
	s, f, err := r.begin(l.root)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		r.segments, r.file = append(r.segments, s), f
	}
	return err
}

// turn seals the last segment of a section if it is full, and removes the first ones. It needs
// disk.
func (l *Log) turn(r *section, now time.Time, passed time.Duration) (err error) {
	var disk int64
	sealing := r.file != nil && r.old(now, &l.config)
	if sealing {
		disk, err = r.seal()
	}
	l.mu.Lock()
	if sealing {
		r.segments[len(r.segments)-1].isSealed(disk)
	}
	n := r.surplus(now, passed, &l.config)
	gone := r.segments[:n:n]
	r.segments = r.segments[n:]
	for _, s := range gone {
		l.gone = max(l.gone, s.Last)
	}
	l.mu.Unlock()
	for _, s := range gone {
		if one := l.root.Remove(s.name); one != nil && !os.IsNotExist(one) {
			err = errors.Join(err, one)
		}
	}
	return err
}
