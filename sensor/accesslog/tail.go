package accesslog

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"edgeguard/logline"
)

// tail is one open file of a followed log. It is used by one goroutine; what
// others ask for (mark, file) is changed under the follower's lock.
type tail struct {
	file *os.File
	name string // where it is, or was when it was opened, symbolic links resolved
	info os.FileInfo
	mark mark
	text *byte // tells its text from another: one that is rewritten in place has another
	// cursor is how far a line is read that is longer than a block and has no end
	// yet; long holds its state. The mark stays at its beginning, so that the line is
	// read again after a restart. Without such a line, cursor has no meaning.
	cursor mark
	long   logline.Long
	head   []byte // the beginning of its text, in the follower's beginnings
	// reach is the greatest size that was seen of the text, in bytes. Of a file
	// that was emptied, saved is how much of the text before is accounted for
	// (read, in a copy, or counted as lost), holed how many NULs begin it, and half where
	// the line ended that was unfinished in the text before; 0 if there was none.
	reach, saved, holed, half int64
	// again is up to where a process before this one may have read the text, too.
	again int64
	// pending is how many bytes of an unfinished line were seen after mark.
	pending int
	// finished says that nothing more is read of it: it was rewritten after it
	// had been rotated away. It stays for a while, so as not to look new.
	finished bool
	read     bool // to its end, when it was last looked at
	// last is when something was read of it, or it was rotated away.
	last time.Time
}

// openTail opens a regular file, at its beginning.
func openTail(path string) (*tail, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: follow a file, or listen at a socket", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now, which nobody writes to
	if err != nil {
		return nil, err
	}
	// What was looked at may have been rotated before it was opened.
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	name := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		name = real
	}
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	return &tail{file: f, name: name, info: info, text: new(byte), reach: info.Size(), last: time.Now()}, nil
}

// lost returns how many bytes are known to have been in the file and neither read
// nor saved in a copy, of which the first saved are.
func (t *tail) lost(saved int64) uint64 { return uint64(max(0, t.reach-saved)) }

// place returns the mark in the form that outlives the process.
func (t *tail) place() Place {
	device, inode := identity(t.info)
	return Place{t.name, device, inode, t.mark.offset, t.mark.hash(), t.mark.inside}
}

// at returns the mark at an offset of the file, with what comes before it, and
// whether the file is that long.
func (t *tail) at(offset int64) (mark, bool) {
	m := mark{offset: offset}
	b := make([]byte, min(offset, contextSize))
	if n, _ := t.file.ReadAt(b, offset-int64(len(b))); n < len(b) {
		return mark{}, false
	}
	m.set(b)
	return m, true
}

// resume goes to a place, if the file is the one of which it was taken.
func (t *tail) resume(p *Place) bool {
	m, ok := t.at(p.Offset)
	if !ok || m.hash() != p.Before {
		return false
	}
	m.inside = p.Inside
	t.mark = m
	return true
}

// end goes to the end. A line that is unfinished there is none of ours.
func (t *tail) end() error {
	info, err := t.file.Stat()
	if err == nil {
		t.skip(info.Size())
	}
	return err
}

// skip goes to an offset. The rest of a line that has begun before it is passed over. A file that is
// shorter was emptied: it is read from its beginning.
func (t *tail) skip(offset int64) {
	m, ok := t.at(offset)
	if !ok {
		return
	}
	if c := m.context(); len(c) > 0 {
		m.inside = c[len(c)-1] != '\n'
	}
	t.mark = m
}

// outcome is what a look at a file showed.
type outcome uint8

const (
	atEnd   outcome = iota
	grown           // there is something to use
	rewound         // it is shorter than it was, or another text is there
)

// from returns where the next reading begins.
func (t *tail) from() *mark {
	if t.long.Open() {
		return &t.cursor
	}
	return &t.mark
}

// next reads what follows the mark, or the cursor, into buf, which has room for a
// block and the context before it. Both are read together, so that a file that was emptied and
// has grown again beyond the mark is noticed without a further call.
func (t *tail) next(buf []byte) ([]byte, outcome, error) {
	from := t.from()
	context := from.context()
	n, err := t.file.ReadAt(buf, from.offset-int64(len(context)))
	switch {
	case err != nil && err != io.EOF:
		return nil, atEnd, err
	case n < len(context) || !bytes.Equal(buf[:len(context)], context):
		return nil, rewound, nil
	case n == len(context):
		t.pending = int(from.offset - t.mark.offset)
		return nil, atEnd, nil
	}
	return buf[len(context):n], grown, nil
}

// once returns what of the text that begins at an offset is to be read as one: all, or
// the lines that a process before may have read. A line that had no end then is none of
// them.
func (t *tail) once(text []byte, offset int64) []byte {
	before := t.again - offset
	if before <= 0 || before >= int64(len(text)) {
		return text
	}
	end := bytes.LastIndexByte(text[:before], '\n') + 1
	if end == 0 {
		t.again = 0
		return text
	}
	return text[:end]
}

// overlong reports whether text begins with a line that has no end yet and is
// longer than what is read of one.
func (t *tail) overlong(text []byte) bool {
	return t.long.Open() || !t.mark.inside && len(text) > logline.MaxLine && text[0] != 0 && bytes.IndexByte(text, '\n') < 0
}

// cut takes the whole lines from the beginning of text, and returns the mark
// after them; the same mark if there are none yet.
//
// The NULs before a line are passed over: a file that is emptied under a writer
// without O_APPEND begins with a hole as long as it was (see [Follower.hole]).
func (t *tail) cut(text []byte) (lines []byte, next mark) {
	used, inside := 0, false
	if t.mark.inside {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			next = t.mark.after(text)
			next.inside = true
			return nil, next
		}
		used = end + 1
	}
	rest := bytes.TrimLeft(text[used:], "\x00")
	used = len(text) - len(rest)
	switch end := bytes.LastIndexByte(rest, '\n') + 1; {
	case end > 0:
		lines = rest[:end]
		used += end
	case len(rest) > logline.MaxLine:
		lines, inside = rest[:logline.MaxLine+1], true // its beginning, of which the rest is passed over
		used = len(text)
	}
	t.pending = len(text) - used
	if used == 0 {
		return nil, t.mark
	}
	next = t.mark.after(text[:used])
	next.inside = inside
	return lines, next
}
