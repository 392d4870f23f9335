package accesslog

import (
	"os"
	"time"
)

// inode is what tells a file from the others.
type inode struct{ device, number uint64 }

func inodeOf(info os.FileInfo) inode {
	device, number := identity(info)
	return inode{device, number}
}

// closing is a file that was closed for want of room while it may still look
// new.
type closing struct {
	place Place
	info  os.FileInfo // as it was then
}

// catchUp opens the files that were made and rotated away unseen. A rotation
// may be under way, so that a folder is read until it shows nothing new; what is
// missed all the same is found by a later reading, which looks back further than
// the last look at the path.
func (f *Follower) catchUp() {
	target, _ := os.Stat(f.config.File)
	known := func(info os.FileInfo) bool { return f.knows(info, target) }
	since := f.seen.Add(-f.config.Linger / 2)
	if since.Before(f.floor) {
		since = f.floor
	}
	for again := true; again; {
		again = false
		for _, r := range between(f.config.File, since, known) {
			t, err := openTail(r.path)
			if err != nil {
				continue
			}
			if known(t.info) { // another has been renamed to this path meanwhile
				t.file.Close()
				continue
			}
			if c, ok := f.closed[inodeOf(t.info)]; ok {
				t.resume(&c.place) // or it is a new file with that inode
			} else if f.heads.has(t) || !t.begun() {
				t.file.Close() // a copy of what was read, or one that is being made
				continue
			}
			f.push(t)
			again = true
		}
	}
}

// scans is how often the folder is read again after a rotation, a poll apart:
// names that move on while they are listed hide a file.
const scans = 10

func (f *Follower) scanAgain(now time.Time) {
	if f.scans == 0 || now.Before(f.nextScan) {
		return
	}
	f.scans--
	f.nextScan = now.Add(f.config.Poll)
	current := f.tails[len(f.tails)-1]
	f.catchUp()
	f.moveLast(current)
}

// moveLast makes a file the one to which the path leads.
func (f *Follower) moveLast(t *tail) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tails := make([]*tail, 0, len(f.tails))
	for _, other := range f.tails {
		if other != t {
			tails = append(tails, other)
		}
	}
	f.tails = append(tails, t)
}

// knows reports whether a file is read already, or will be: the path leads to
// it.
func (f *Follower) knows(info, target os.FileInfo) bool {
	if target != nil && os.SameFile(info, target) {
		return true
	}
	for _, t := range f.tails {
		if os.SameFile(info, t.info) {
			return true
		}
	}
	c, ok := f.closed[inodeOf(info)]
	return ok && c.info.Size() == info.Size() && c.info.ModTime().Equal(info.ModTime())
}

// forget closes files that were rotated away and have had no line for a while,
// and the oldest if there are too many.
func (f *Follower) forget() {
	for len(f.tails) > 1 && f.tails[0].read {
		t := f.tails[0]
		old := time.Since(t.last) > f.config.Linger
		if !old && len(f.tails) <= maxTails {
			break
		}
		if info, err := t.file.Stat(); err == nil && !old {
			if f.closed == nil {
				f.closed = map[inode]closing{}
			}
			f.closed[inodeOf(info)] = closing{t.place(), info}
		}
		f.mu.Lock()
		f.stats.Lost += uint64(t.pending)
		f.tails = append([]*tail(nil), f.tails[1:]...)
		f.mu.Unlock()
		t.file.Close()
	}
	if len(f.tails) == 1 {
		f.closed = nil // all of them are old by now
	}
}
