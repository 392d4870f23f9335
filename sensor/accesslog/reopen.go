package accesslog

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"
)

// inode is what tells a file from the others.
type inode struct{ device, number uint64 }

func inodeOf(info os.FileInfo) inode {
	device, number := identity(info)
	return inode{device, number}
}

// closing is a file that was closed while it may still look new.
type closing struct {
	place Place
	info  os.FileInfo // as it was then
	over  bool        // nothing more is read of it, whatever is written there
}

// unread is a rotated file that waits to be opened.
type unread struct {
	written time.Time
	misses  int // how many lists of the folder in a row have not shown it
}

// maxUnread is how many waiting files are remembered one by one, so that one that
// is gone is counted. More are read all the same.
const maxUnread = 4096

// catchUp opens the files that were made and rotated away unseen, the oldest
// first, as far as there is room. A rotation may be under way, so the folder is
// read until it shows nothing new. What is missed all the same is found by a later
// reading, which looks back further than the last look at the path.
//
// An error says that nothing more can be opened now; what is left is owed.
func (f *Follower) catchUp() error {
	f.advance()
	target, _ := os.Stat(f.config.File)
	known := func(info os.FileInfo) bool { return f.knows(info, target) }
	for {
		opened, left, err := f.openMissed(between(f.config.File, f.since, known), known)
		f.owe(left)
		f.read = true
		if !opened || f.full || err != nil {
			return err
		}
	}
}

// advance moves on to where the folder has been read completely, and drops what
// is older than that.
func (f *Follower) advance() {
	done := f.seen
	if !f.owed.IsZero() && f.owed.Before(done) {
		done = f.owed
	}
	if done = done.Add(-f.config.Linger / 2); f.read && done.After(f.since) {
		f.since = done
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, c := range f.closed {
		if c.info.ModTime().Before(f.since.Add(-clockGrain)) {
			delete(f.closed, id)
		}
	}
}

// openMissed opens the files that were listed, and returns those that are left:
// there is no room, or they have another name by now.
func (f *Follower) openMissed(found []rotated, known func(os.FileInfo) bool) (opened bool, left []rotated, err error) {
	f.full = false
	for i, r := range found {
		if len(f.tails) >= maxTails {
			f.full = true
			return opened, append(left, found[i:]...), nil
		}
		t, err := openTail(r.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			left = append(left, r)
			continue
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM):
			return opened, append(left, found[i:]...), err
		case err != nil:
			f.giveUp(r.info)
			continue
		}
		if !os.SameFile(r.info, t.info) {
			left = append(left, r)
		}
		if known(t.info) { // another has been renamed to this path since
			_ = t.file.Close()
			continue
		}
		delete(f.unread, inodeOf(t.info))
		c, closed := f.closed[inodeOf(t.info)] // or it is a new file with the inode of one that is gone
		if !(closed && t.resume(&c.place)) {
			read := f.beginnings.has(t) || !t.begun() // a copy of what was read, or one that is being made
			if read || f.willRead(t) {
				_ = t.file.Close()
				if !read {
					left = append(left, r)
				}
				continue
			}
		}
		f.note(t)
		f.push(t)
		opened = true
	}
	return opened, left, nil
}

// willRead reports whether a file is a copy of what an open one has now, though nothing was read
// of that yet: until it is emptied, or read.
func (f *Follower) willRead(t *tail) bool {
	return slices.ContainsFunc(f.tails, func(open *tail) bool {
		h := beginnings{open.beginning()}
		return h.has(t)
	})
}

// giveUp counts a file that may not be read.
func (f *Follower) giveUp(info os.FileInfo) {
	delete(f.unread, inodeOf(info))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Gaps++
	f.remember(closing{info: info, over: true})
}

// remember keeps what a closed file was like. The follower's lock is held.
func (f *Follower) remember(c closing) {
	if f.closed == nil {
		f.closed = map[inode]closing{}
	}
	f.closed[inodeOf(c.info)] = c
}

// owe notes which files are left to be opened. Who is not in the folder any more
// is counted: names that move on while they are listed hide a file, but not
// every time.
func (f *Follower) owe(left []rotated) {
	here := make(map[inode]bool, len(left))
	var oldest time.Time
	note := func(written time.Time) {
		if oldest.IsZero() || written.Before(oldest) {
			oldest = written
		}
	}
	for _, r := range left {
		if f.knows(r.info, nil) {
			continue // it was opened by its new name already
		}
		id := inodeOf(r.info)
		here[id] = true
		note(r.info.ModTime())
		if _, ok := f.unread[id]; ok || len(f.unread) < maxUnread {
			if f.unread == nil {
				f.unread = map[inode]unread{}
			}
			f.unread[id] = unread{written: r.info.ModTime()}
		}
	}
	gone := 0
	for id, u := range f.unread {
		if here[id] {
			continue
		}
		if u.misses++; u.misses > misses {
			delete(f.unread, id)
			gone++
			continue
		}
		f.unread[id] = u
		note(u.written)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.owed = oldest
	f.stats.Gaps += uint64(gone)
}

// scans is how often the folder is read again after a rotation, a poll apart:
// names that move on while they are listed hide a file.
const scans = 10

// misses is after how many of these a file counts as gone. While hundreds of names
// move on without a pause, every second look may miss one.
const misses = 40

func (f *Follower) scanAgain(now time.Time) error {
	if f.scans == 0 && f.owed.IsZero() || now.Before(f.nextScan) {
		return nil
	}
	f.scans = max(0, f.scans-1)
	f.nextScan = now.Add(f.config.Poll)
	current := f.tails[len(f.tails)-1]
	err := f.catchUp()
	f.moveLast(current)
	return err
}

// moveLast makes a file the one to which the path leads.
func (f *Follower) moveLast(t *tail) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tails = append(slices.DeleteFunc(slices.Clone(f.tails), func(other *tail) bool { return other == t }), t)
}

// tailOf returns the open file that is this one, nil if there is none.
func (f *Follower) tailOf(info os.FileInfo) *tail {
	i := slices.IndexFunc(f.tails, func(t *tail) bool { return os.SameFile(info, t.info) })
	if i < 0 {
		return nil
	}
	return f.tails[i]
}

// knows reports whether a file is read already, or will be: the path leads to
// it.
func (f *Follower) knows(info, target os.FileInfo) bool {
	if target != nil && os.SameFile(info, target) {
		return true
	}
	if f.tailOf(info) != nil {
		return true
	}
	if f.elsewhere != nil && f.elsewhere(info) {
		return true
	}
	c, ok := f.closed[inodeOf(info)]
	return ok && (c.over || c.info.Size() == info.Size() && c.info.ModTime().Equal(info.ModTime()))
}

// forget closes files that were rotated away and have had no line for a while,
// and the oldest if there are too many. What was written to one since it was
// read is read first.
func (f *Follower) forget() {
	room := maxTails
	if f.full {
		room = maxTails / 2 // for those that wait
	}
	for len(f.tails) > 1 && f.tails[0].read {
		t := f.tails[0]
		if time.Since(t.last) <= f.config.Linger && len(f.tails) <= room {
			return
		}
		info, err := t.file.Stat()
		if err == nil && !t.finished && info.Size() != t.mark.offset+int64(t.pending) {
			t.read = false
			return
		}
		f.mu.Lock()
		if err == nil {
			f.remember(closing{t.place(), info, t.finished})
		}
		f.stats.Lost += uint64(t.pending)
		f.tails = append([]*tail(nil), f.tails[1:]...)
		f.mu.Unlock()
		_ = t.file.Close()
	}
}
