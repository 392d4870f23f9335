package eventlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Section is a part of the log with bytes of its own.
type Section int

// The sections.
const (
	ByHand    Section = iota // operators' changes, alarms, the node's states: few, and never moved by the others
	Blocks                   // blocks and allowances, their changes and ends
	Crossings                // of limits, where no block came of it
	sections
)

var sectionNames = [sections]string{"changes", "blocks", "crossings"}

// share is how many sixteenths of the bytes a section has.
var share = [sections]int64{2, 10, 4}

// mostPending is how many bytes of a section may wait for the disk. Those of crossings are the
// first to be left out.
var mostPending = [sections]int{1 << 20, 1 << 20, 256 << 10}

const (
	// mostUnwritten is more than the entries that one run can have numbered and not written:
	// the next numbers its own from behind them, since a reader may have seen some.
	mostUnwritten = 1 << 17
	// leastSegment and mostSegment bound how long a segment grows: a sixteenth of its section.
	leastSegment, mostSegment = 16 << 10, 1 << 20
	// parts is how many segments the days are spread over at least, so that an entry stays at
	// most a thirtieth longer than was asked for.
	parts = 30
	// clockTime is how long a segment must be too old before it goes, with a keep of days: a
	// clock that is wrong, as before the first answer of a time server, is set right by then.
	// mostPassed is the most of it that may pass between two flushes, since clocks step.
	clockTime  = time.Hour
	mostPassed = time.Minute
)

// segment is a file of a section. The files of one section have ascending numbers.
type segment struct {
	summary
	name   string
	number uint64
	disk   int64 // bytes with the index
	sealed bool
}

// section is a row of segments, the oldest first, and what is not in one yet.
type section struct {
	which    Section
	number   uint64        // of the newest file, which may be one that cannot be read
	segments []*segment    // one of another version has no entries, and counts until it goes
	file     *os.File      // of the last segment; nil if that is sealed or there is none
	pending  []byte        // frames that wait
	late     time.Duration // how long the first segment has been too old
	writing  []byte        // frames that a flush writes now
}

func segmentName(r Section, number uint64) string {
	return fmt.Sprintf("%s-%016d.log", sectionNames[r], number)
}

// open finds the section's segments in a folder, cuts what was torn, and goes on in the last one.
func (r *section) open(root *os.Root) (err error) {
	entries, err := fs.ReadDir(root.FS(), ".") // sorted by name, and so by number
	if err != nil {
		return err
	}
	for _, e := range entries {
		s := &segment{name: e.Name()}
		if _, err := fmt.Sscanf(s.name, sectionNames[r.which]+"-%d.log", &s.number); err != nil || s.name != segmentName(r.which, s.number) {
			continue
		}
		r.number = s.number
		if r.file != nil { // of the one before, which had no index
			disk, one := r.seal()
			r.segments[len(r.segments)-1].isSealed(disk)
			err = errors.Join(err, one)
		}
		if one := r.openSegment(root, s); one != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", s.name, one))
		}
	}
	return err
}

// openSegment reads what a segment has. One that is not sealed is the last, or was when
// the process was killed.
func (r *section) openSegment(root *os.Root, s *segment) error {
	f, err := root.OpenFile(s.name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is not a file")
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	var sealed bool
	if s.summary, sealed = readTrailer(f, info.Size()); sealed {
		s.disk, s.sealed = info.Size(), true
		r.segments = append(r.segments, s)
		return f.Close()
	}
	begins := make([]byte, len(magic))
	if _, err := f.ReadAt(begins, 0); err != nil || string(begins) != magic {
		if info.Size() < int64(len(magic)) { // it was made and never written
			return errors.Join(f.Close(), root.Remove(s.name))
		}
		s.summary = summary{Latest: info.ModTime().UnixNano()} // it has its place in the section until it goes
		s.disk, s.sealed = info.Size(), true
		r.segments = append(r.segments, s)
		return errors.Join(errors.New("is of another version or program, and is not read"), f.Close())
	}
	s.summary = summary{}
	end := scan(f, int64(len(magic)), min(info.Size(), 1<<31), func(_ int64, e *Entry) bool { s.note(e); return true })
	s.Frames, s.disk = uint32(end), end
	if err := f.Truncate(end); err != nil {
		return errors.Join(err, f.Close())
	}
	r.segments, r.file = append(r.segments, s), f
	return nil
}

// seal puts the index behind the last segment, closes it, and returns how long the file is
// then. After an error it is 0: the segment stays without an index, and is read from its
// beginning to its end.
func (r *section) seal() (disk int64, err error) {
	f, s := r.file, r.segments[len(r.segments)-1]
	r.file = nil
	index := append(indexOf(f, &s.summary), s.trailer()...)
	if _, err = f.WriteAt(index, int64(s.Frames)); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return 0, errors.Join(err, f.Truncate(int64(s.Frames)), f.Close())
	}
	return int64(s.Frames) + int64(len(index)), f.Close()
}

// isSealed says how long the file is with its index; 0 if it has none.
func (s *segment) isSealed(disk int64) {
	if disk > 0 {
		s.sealed, s.disk = true, disk
	}
}

// begin makes the next segment.
func (r *section) begin(root *os.Root) (*segment, *os.File, error) {
	s := &segment{number: r.number + 1, summary: summary{Frames: uint32(len(magic))}, disk: int64(len(magic))}
	s.name = segmentName(r.which, s.number)
	f, err := root.OpenFile(s.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if _, err = f.WriteAt([]byte(magic), 0); err != nil {
		return nil, nil, errors.Join(err, f.Close(), root.Remove(s.name))
	}
	r.number = s.number
	return s, f, nil
}

// old reports whether the last segment is to be sealed.
func (r *section) old(now time.Time, c *Config) bool {
	s := r.segments[len(r.segments)-1]
	return int64(s.Frames) >= c.segmentBytes(r.which) || s.First > 0 && now.Sub(time.Unix(0, s.Earliest)) >= c.Keep/parts
}

// surplus returns how many segments the section has no place for, or have been too old for long.
// passed is the time since the last call.
func (r *section) surplus(now time.Time, passed time.Duration, c *Config) int {
	tooOld := func(s *segment) bool { return now.Sub(time.Unix(0, s.Latest)) > c.Keep }
	if r.late += passed; len(r.segments) == 0 || !tooOld(r.segments[0]) {
		r.late = 0
	}
	byAge, total := r.late >= min(clockTime, c.Keep/parts), int64(len(r.pending))
	for _, s := range r.segments {
		total += s.disk
	}
	for n, s := range r.segments {
		if s.name == r.grows() || total <= c.sectionBytes(r.which) && !(byAge && tooOld(s)) {
			return n
		}
		total -= s.disk
	}
	return len(r.segments)
}

// grows returns the name of the segment that is written to; empty if there is none.
func (r *section) grows() string {
	if r.file == nil {
		return ""
	}
	return r.segments[len(r.segments)-1].name
}

// write appends frames to the last segment.
func (r *section) write(frames []byte) error {
	s := r.segments[len(r.segments)-1]
	if _, err := r.file.WriteAt(frames, int64(s.Frames)); err != nil {
		return err // what was written of it is written again, or cut
	}
	if r.which == ByHand {
		return r.file.Sync()
	}
	return nil
}

// noted returns the summary of the last segment with frames that were written to it.
func (r *section) noted(frames []byte) summary {
	sum := r.segments[len(r.segments)-1].summary
	for rest := frames; len(rest) > 0; {
		size := frameSize(rest)
		if e, ok := readFrame(rest[:size]); ok {
			sum.note(&e)
		}
		rest = rest[size:]
	}
	sum.Frames += uint32(len(frames))
	return sum
}

// view returns the section as it is now, for a reader. It needs the log's lock.
func (r *section) view() (segments []segment, tail []byte) {
	for _, s := range r.segments {
		segments = append(segments, *s)
	}
	return segments, slices.Concat(r.writing, r.pending)
}
