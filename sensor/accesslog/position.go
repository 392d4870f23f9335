package accesslog

import (
	"os"
	"path/filepath"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Position is how far a [Follower] is: every line before it has been decided,
// and none after it. It is plain data, to be stored in any form; the zero value
// means that nothing is known.
type Position struct {
	// Files are those that are read, the oldest first: the last is the one to
	// which the followed path led, those before it were rotated away.
	Files []Place
	// Seen is when the path was last looked at, by the wall clock: files that
	// were made and rotated since are found by it.
	Seen time.Time
}

// Place is how far one file has been read.
type Place struct {
	Name          string // where it was when it was opened
	Device, Inode uint64 // which file it is; 0 where the system does not say
	Offset        int64  // in bytes
	// Before is xxhash64 of the up to 256 bytes before Offset: it tells the
	// file from another with a recycled inode, and from itself rewritten.
	Before uint64
	// Inside says that Offset is inside a line that is passed over, because it
	// is too long or its beginning is not there.
	Inside bool
}

// of reports whether a file may be the one of the place.
func (p *Place) of(info os.FileInfo) bool {
	device, inode := identity(info)
	return device == p.Device && inode == p.Inode && (inode != 0 || info.Name() == filepath.Base(p.Name))
}

// rank orders the file itself before its copies.
func (p *Place) rank(info os.FileInfo) int {
	if p.of(info) {
		return 0
	}
	return 1
}

// contextSize is how many bytes before an offset are compared: more than a
// line, with its time.
const contextSize = 256

// mark is a place in an open file. It is a value: a batch is decided between two
// of them.
type mark struct {
	offset int64
	inside bool
	known  int               // how many bytes of before hold
	before [contextSize]byte // the end of it is what comes before offset
}

// context returns the bytes before the offset.
func (m *mark) context() []byte { return m.before[contextSize-m.known:] }

func (m *mark) hash() uint64 { return xxhash.Sum64(m.context()) }

// set fixes the bytes before the offset.
func (m *mark) set(context []byte) {
	m.known = min(len(context), contextSize)
	copy(m.before[contextSize-m.known:], context[len(context)-m.known:])
}

// after returns the mark that follows when b has been used.
func (m *mark) after(b []byte) mark {
	next := mark{offset: m.offset + int64(len(b))}
	if len(b) >= contextSize {
		next.set(b)
		return next
	}
	old := m.context()
	next.known = min(contextSize, len(old)+len(b))
	at := contextSize - len(b)
	copy(next.before[at:], b)
	copy(next.before[contextSize-next.known:at], old[len(old)-(next.known-len(b)):])
	return next
}
