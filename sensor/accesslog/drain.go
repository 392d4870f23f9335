package accesslog

import (
	"context"
	"fmt"
	"os"
	"time"
)

// maxTurn is how many blocks are read of a file before the path is looked at
// again: a log that grows as fast as it is read must not hide its rotation.
const maxTurn = 64

// drain reads every open file, the oldest first, and reports whether all are
// read to their ends.
func (f *Follower) drain(ctx context.Context) (done bool) {
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
	f.heads.note(t)
	text, what, err := t.next(f.buf)
	t.read = err == nil && what == atEnd
	f.failing = err != nil
	switch {
	case err != nil:
		f.in.troubles.set(atFile, fmt.Errorf("cannot read the log: %w; it is tried again", err))
		return false
	case what == rewound:
		f.rewind(t)
		return true
	case what == atEnd:
		return false
	}
	t.last = time.Now()
	lines, next := t.cut(text)
	if next.offset == t.mark.offset {
		t.read = true
		return false // an unfinished line: read again when it has grown
	}
	f.settle(t, lines, next)
	return true
}

// settle decides the lines and moves the mark to their end, as one.
func (f *Follower) settle(t *tail, lines []byte, next mark) {
	f.page.text = lines
	now, events := f.config.Now(), f.page.events[:0]
	if len(lines) > 0 {
		now, events = f.in.parse(&f.page)
	}
	f.config.Gate.Lock()
	defer f.config.Gate.Unlock()
	if len(events) > 0 {
		f.config.Decide(now, events)
	}
	f.mu.Lock()
	t.mark = next
	f.mu.Unlock()
}

// rewind begins a file anew that was emptied or rewritten. What it had is
// usually in a copy (logrotate's copytruncate), which is then read to its end.
//
// A file that was rotated away is finished: what is rewritten there (to make it
// anonymous, say) are no new requests.
func (f *Follower) rewind(t *tail) {
	if t != f.tails[len(f.tails)-1] {
		f.mu.Lock()
		defer f.mu.Unlock()
		t.finished, t.pending, t.last = true, 0, time.Now()
		return
	}
	place := t.place()
	next := mark{inside: t.pending > 0} // the rest of that line is no line
	copied := find(t.name, &place)
	if copied != nil && os.SameFile(copied.info, t.info) {
		copied.file.Close() // it was whole again: somebody is still at it
		copied = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Truncations++
	if copied == nil {
		f.stats.Lost += uint64(t.pending)
	} else {
		f.insert(copied, t)
	}
	t.mark, t.pending, t.head = next, 0, nil
}

// insert puts a file before another, to be read first.
func (f *Follower) insert(t, before *tail) {
	tails := make([]*tail, 0, len(f.tails)+1)
	for _, old := range f.tails {
		if old == before {
			tails = append(tails, t)
		}
		tails = append(tails, old)
	}
	f.tails = tails
}
