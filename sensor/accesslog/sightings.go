package accesslog

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
)

const (
	// maxNames is how many files of a pattern are looked at, and mostLeft of how many that
	// are not followed any more the position is kept.
	maxNames, mostLeft = 1 << 16, 4096
	// freshFor is how old a file's last line may be for it to be followed at the first
	// start; others are when they are written to.
	freshFor = time.Hour
	// idleFor is after how long without a line a file gives its place to another, and
	// goneFor how long a file is read on whose name is not there: a rotation may be under way.
	idleFor, goneFor = time.Minute, 2 * time.Minute
	// copyFor is how long a new file may be a copy that is being made.
	copyFor = time.Minute
)

// sighting is what was seen of a file that is not followed: it is when that changes.
type sighting struct {
	size    int64 // read up to, or passed over
	changed time.Time
	first   time.Time // seen
	since   time.Time // the look before that: who looks again from then on finds it
}

// candidate is a file that was written to and is not followed.
type candidate struct {
	sighting
	path string
	info os.FileInfo
}

// identityOf tells a file from all others, by its name where the system has no inodes.
func identityOf(path string, info os.FileInfo) inode {
	id := inodeOf(info)
	if id == (inode{}) {
		id.number = xxhash.Sum64String(path)
	}
	return id
}

// rotates reports whether a rotation of the log base may give its file that path.
func rotates(base, path string) bool {
	return filepath.Dir(base) == filepath.Dir(path) && isRotated(filepath.Base(base), filepath.Base(path))
}

// list finds the files that match, and says so when there are too many.
func (g *PatternFollower) list(now time.Time) {
	names, _ := filepath.Glob(g.config.File) // the pattern was checked
	names = slices.DeleteFunc(names, g.excepted)
	slices.Sort(names)
	if len(names) > 0 {
		g.none = time.Time{}
	} else if g.none.IsZero() {
		g.none = now
	}
	var err error
	switch {
	case len(names) > maxNames:
		err = fmt.Errorf("%d files match %s, and only %d are looked at: remove some, or give a pattern of fewer", len(names), g.config.File, maxNames)
		names = names[:maxNames]
	case g.waiting > 0:
		err = fmt.Errorf("%d files of %s are written to and not read: %d are read together, and one gives its place after a minute without a line", g.waiting, g.config.File, MostFollowed)
	case len(names) == 0 && now.Sub(g.none) > patience:
		err = fmt.Errorf("no file matches %s; waiting for one", g.config.File)
	}
	g.trouble("", atFiles, err)
	g.names = names
}

// excepted reports whether another source reads a file.
func (g *PatternFollower) excepted(path string) bool {
	return slices.ContainsFunc(g.config.Except, func(other string) bool {
		matches, _ := filepath.Match(other, path)
		return matches || other == path || rotates(other, path)
	})
}

// look follows what was written to since the last look.
func (g *PatternFollower) look(now time.Time) {
	g.list(now)
	if g.looked.IsZero() {
		g.resume()
	}
	g.dismiss(now)
	read := g.followed()
	before := g.sighted
	g.sighted = make(map[inode]sighting, len(g.names))
	var changed []candidate
	for _, name := range g.names {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		id := identityOf(name, info)
		if _, twice := g.sighted[id]; twice {
			continue // another name of it
		}
		s, known := before[id]
		if !known {
			s = g.sight(now, info)
		}
		if read[id] || g.members[name] != nil && !g.pinned(name) {
			g.sighted[id] = sighting{info.Size(), info.ModTime(), s.first, s.since}
			continue
		}
		g.sighted[id] = s
		if s.size != info.Size() || !s.changed.Equal(info.ModTime()) {
			changed = append(changed, candidate{s, name, info})
		}
	}
	seen := g.follow(now, changed)
	if g.looked.IsZero() && g.config.Placed != nil {
		defer g.config.Placed()
	}
	g.looked = now
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen = seen
}

// resume goes on with the files of the saved positions.
func (g *PatternFollower) resume() {
	for path, at := range maps.Clone(g.left) {
		if len(g.members) < MostFollowed {
			g.begin(path, nil, at)
		}
	}
}

// sight returns what is to be read of a file that is seen for the first time. One that was last
// written to before the last look has been moved here, and was read or not asked for.
func (g *PatternFollower) sight(now time.Time, info os.FileInfo) sighting {
	since := cmp.Or(g.looked, g.seen)
	s := sighting{size: info.Size(), changed: info.ModTime(), first: now, since: cmp.Or(since, now)}
	switch {
	case since.IsZero() && now.Sub(info.ModTime()) < freshFor:
		s.changed = time.Time{} // followed, from its end
	case !since.IsZero() && !info.ModTime().Before(since.Add(-clockGrain)):
		s.size, s.changed = 0, time.Time{}
	}
	return s
}

// followed returns the files that are read by a follower.
func (g *PatternFollower) followed() map[inode]bool {
	read := make(map[inode]bool, len(g.members))
	for _, m := range g.members {
		for _, t := range m.tails {
			read[inodeOf(t.info)] = true
		}
		for i := range m.saved {
			read[inode{m.saved[i].Device, m.saved[i].Inode}] = true
		}
	}
	delete(read, inode{})
	return read
}

// dismiss stops following the files whose names are gone for long.
func (g *PatternFollower) dismiss(now time.Time) {
	there := func(path string) bool { _, found := slices.BinarySearch(g.names, path); return found }
	for path, m := range g.members {
		switch {
		case there(path):
			m.gone = time.Time{}
		case m.gone.IsZero():
			m.gone = now
		case now.Sub(m.gone) > goneFor && m.allRead():
			g.stop(path, m)
		}
	}
	for path := range g.wrong[atFile] {
		if g.members[path] == nil && !there(path) {
			g.trouble(path, atFile, nil)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for path := range g.left {
		if !there(path) {
			delete(g.left, path)
		}
	}
}

// allRead reports whether all that is known of a follower's files was read.
func (f *Follower) allRead() bool {
	return !slices.ContainsFunc(f.tails, func(t *tail) bool { return !t.read })
}

// follow begins to follow files, those first that have waited longest, then those that were
// written to last. It returns from when on who looks again finds those that could not be.
func (g *PatternFollower) follow(now time.Time, changed []candidate) (seen time.Time) {
	slices.SortFunc(changed, func(a, b candidate) int {
		return cmp.Or(a.first.Compare(b.first), b.info.ModTime().Compare(a.info.ModTime()))
	})
	g.waiting, seen = 0, now
	for i := range changed {
		c := &changed[i]
		if g.reads(c.info, nil) {
			continue // since a moment ago: it was found as what another's rotation left
		}
		full := g.members[c.path] == nil && len(g.members) >= MostFollowed && !g.giveWay(now)
		if full {
			g.waiting++
		}
		if (full || !g.open(now, c)) && c.since.Before(seen) {
			seen = c.since
		}
	}
	if read := now.Add(-defaultLinger / 2); seen.Before(read) {
		return read // what was last written before may have been read, and closed
	}
	return seen
}

// giveWay stops following the file that was longest without a line, if that is long.
func (g *PatternFollower) giveWay(now time.Time) bool {
	idlest, oldest := "", now.Add(-idleFor)
	for path, m := range g.members {
		var last time.Time
		for _, t := range m.tails {
			last = t.last // the newest's
		}
		if last.Before(oldest) && m.allRead() {
			idlest, oldest = path, last
		}
	}
	if idlest != "" {
		g.stop(idlest, g.members[idlest])
	}
	return idlest != ""
}

// open opens a file where it is to be read from, and reports whether that is done.
func (g *PatternFollower) open(now time.Time, c *candidate) bool {
	if c.info.Size() == 0 {
		return true
	}
	t, err := openTail(c.path)
	if err != nil {
		g.trouble(c.path, atFile, fmt.Errorf("cannot follow the log: %w; retrying", err))
		return false
	}
	g.trouble(c.path, atFile, nil)
	if !os.SameFile(t.info, c.info) { // another has been renamed to this path since
		_ = t.file.Close()
		return false
	}
	isOther := isCompressed(t.beginning()) || now.Sub(c.first) < copyFor && g.isCopy(c.path, t)
	if isOther {
		g.sighted[identityOf(c.path, t.info)] = sighting{t.info.Size(), t.info.ModTime(), c.first, c.since}
	}
	if isOther || !t.begun() {
		_ = t.file.Close()
		return true // of half a line, the rest is still to come
	}
	at := g.left[c.path]
	if n := len(at.Files); n == 0 || !at.Files[n-1].of(t.info) || !t.resume(&at.Files[n-1]) {
		t.skip(c.size)
	}
	if m := g.members[c.path]; m != nil { // pinned: its file was given another name
		m.note(t)
		m.push(t)
		return true
	}
	g.begin(c.path, t, Position{})
	return true
}

// isCopy reports whether a file is a copy that a rotation makes of a log before it is emptied.
func (g *PatternFollower) isCopy(path string, t *tail) bool {
	for _, m := range g.members {
		if rotates(m.config.File, path) && (m.beginnings.has(t) || m.willRead(t)) {
			return true
		}
	}
	return false
}

// isCompressed reports whether a file begins as gzip, xz, zstd or bzip2 files do.
func isCompressed(head []byte) bool {
	for _, magic := range []string{"\x1f\x8b", "\xfd7zXZ", "\x28\xb5\x2f\xfd", "BZh91AY&SY"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}
