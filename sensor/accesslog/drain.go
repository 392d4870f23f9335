package accesslog

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/logline"
)

// maxTurn is how many blocks are read of a file before the path is looked at
// again: a log that grows as fast as it is read must not hide its rotation.
const maxTurn = 64

// drain reads every open file, the oldest first, and reports whether all are
// read to their ends.
func (f *Follower) drain(ctx context.Context) (done bool) {
	f.taken = 0
	for i := 0; i < len(f.tails); i++ {
		t := f.tails[i]
		for turn := 0; ; turn++ {
			if ctx.Err() != nil || turn == maxTurn {
				return false
			}
			if !f.step(t) {
				break
			}
		}
	}
	return true
}

// step reads and decides one block, and reports whether there may be more.
func (f *Follower) step(t *tail) (more bool) {
	if t.finished {
		t.read = true
		return false
	}
	f.beginnings.note(t)
	info, err := t.file.Stat() // before the reading, which says whether it is still that text
	if err != nil {
		info = t.info
	}
	text, what, err := t.next(f.buf)
	t.read = err == nil && what == atEnd
	f.failing = err != nil
	switch {
	case err != nil:
		f.in.troubles.set(atFile, fmt.Errorf("cannot read the log: %w; retrying", err))
		return false
	case what == rewound:
		f.rewind(t)
		return true
	}
	f.measure(t, max(info.Size(), t.from().offset+int64(len(text))))
	if what == atEnd {
		return false
	}
	t.last = time.Now()
	text = t.once(text, t.from().offset)
	if t.overlong(text) && f.in.streams {
		f.stream(t, text)
		return true
	}
	f.hole(t, text)
	lines, next := t.cut(text)
	if next.offset == t.mark.offset {
		t.read = true
		return false // an unfinished line: read again when it has grown
	}
	f.settle(t, lines, next)
	return true
}

// settle parses and decides the lines.
func (f *Follower) settle(t *tail, lines []byte, next mark) {
	f.page.Text, f.page.GoesOn, f.page.Long, f.page.Origin = lines, false, nil, t.text
	now, events := f.config.Now(), f.page.Events[:0]
	f.page.Uncounted = f.page.Uncounted[:0]
	if len(lines) > 0 {
		now, events = f.in.parse(&f.page)
	}
	f.decide(t, now, events, next)
}

// decide decides a batch and moves the mark to its end, as one.
func (f *Follower) decide(t *tail, now time.Time, events []edgeguard.Event, next mark) {
	f.config.Gate.Lock()
	defer f.config.Gate.Unlock()
	if f.config.Restored {
		for i := range events {
			events[i].Again = t.mark.offset < t.again
		}
	}
	if len(events) > 0 {
		f.config.Decide(now, events)
	}
	f.in.tell(now, &f.page)
	f.mu.Lock()
	t.mark = next
	f.mu.Unlock()
}

// stream reads on in a line that has no end yet and says what it says only
// there. The mark stays at its beginning until then.
func (f *Follower) stream(t *tail, text []byte) {
	end := bytes.IndexByte(text, '\n')
	if end >= 0 {
		text = text[:end+1]
	}
	next := t.from().after(text)
	f.page.Text, f.page.GoesOn, f.page.Long, f.page.Origin = text, end < 0, &t.long, t.text
	now, events := f.in.parse(&f.page)
	if t.long.Streams() {
		t.cursor, t.pending = next, int(next.offset-t.mark.offset)
		return
	}
	next.inside = t.long.Open() // too long: the rest is passed over
	t.long, t.pending = logline.Long{}, 0
	f.decide(t, now, events, next)
}

// measure notes how long the text is. One that is shorter than it was, and not
// before what was read of it, was cut off there or emptied and has grown again.
func (f *Follower) measure(t *tail, size int64) {
	if size < t.reach {
		f.mu.Lock()
		f.stats.Lost += t.lost(size)
		f.mu.Unlock()
	}
	t.reach = size
}

// hole counts the NULs at the beginning of a file that was emptied under a writer
// without O_APPEND, which continues where it was. They are as many as the bytes
// that the file had, so that what was lost is known exactly. (A writer with
// O_APPEND leaves no trace: what it wrote after the copy and the last look is lost
// unseen.) It also says whether the writer was still in the line of which half was seen.
func (f *Follower) hole(t *tail, text []byte) {
	if t.saved == 0 || t.holed != t.mark.offset {
		return
	}
	nuls := int64(len(text) - len(bytes.TrimLeft(text, "\x00")))
	if nuls == 0 {
		return
	}
	before := max(0, t.holed-t.saved)
	t.holed += nuls
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.holed > t.half { // the writer had gone on: the rest of that line is not behind the hole
		t.mark.inside = false
	}
	f.stats.Lost += uint64(max(0, t.holed-t.saved) - before)
}

// rewind begins again with a file that was emptied or rewritten. What it had is
// usually in a copy (logrotate's copytruncate), which is then read to its end.
//
// A file that was rotated away is finished: what is rewritten there (to make it
// anonymous, say) are not new requests.
func (f *Follower) rewind(t *tail) {
	if t != f.tails[len(f.tails)-1] {
		f.mu.Lock()
		defer f.mu.Unlock()
		t.finished, t.pending, t.last = true, 0, time.Now()
		return
	}
	place := t.place()
	// Where the text ended with an unfinished line, its rest is not a line.
	half := t.mark.offset + int64(t.pending)
	next := mark{inside: t.pending > 0 && half >= t.reach}
	if !next.inside {
		half = 0
	}
	saved := t.mark.offset
	copied := find(t.name, &place)
	if copied != nil && os.SameFile(copied.info, t.info) {
		_ = copied.file.Close() // it was whole again: it is still being written
		copied = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Truncations++
	if copied != nil {
		saved, copied.again = copied.info.Size(), t.again
		f.insert(copied, t)
	}
	f.stats.Lost += t.lost(saved)
	*t = tail{file: t.file, name: t.name, info: t.info, text: new(byte), mark: next, saved: max(t.reach, saved), half: half, last: t.last}
}

// insert puts a file before another, to be read first.
func (f *Follower) insert(t, before *tail) {
	f.tails = slices.Insert(slices.Clone(f.tails), slices.Index(f.tails, before), t)
}
