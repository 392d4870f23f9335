package accesslog

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"edgeguard/internal/program"
)

// TestFollowRotations is fault test 20: a thousand rotations by rename under a
// writer, and every line exactly once.
func TestFollowRotations(t *testing.T) {
	rotations, each := 1000, 40
	if testing.Short() {
		rotations = 100
	}
	l := newLog(t)
	f := follow(t, &heard{}, FollowConfig{File: l.path, Beginning: true})
	begin := time.Now()
	for i := range rotations {
		l.lines(each / 2)
		l.rename(fmt.Sprintf("access.log-%d", 20260000+i))
		l.lines(each / 2) // the server has not been told yet
		l.open()
	}
	t.Logf("%.0f lines/s", float64(l.n)/time.Since(begin).Seconds())
	f.all(t, l.n)
	program.Eventually(t, "the last file is read", func() bool { s := f.Stats(); return s.Rotations == uint64(rotations) && s.Behind == 0 })
	if s := f.Stats(); s.Truncations != 0 || s.Lost != 0 || s.Skipped != 0 {
		t.Errorf("%+v", s)
	}
}

// TestFollowNumbers is the same with names that move on while they are read,
// however far the follower is behind.
func TestFollowNumbers(t *testing.T) {
	l := newLog(t)
	f := follow(t, &heard{}, FollowConfig{File: l.path, Beginning: true})
	for range 150 {
		l.lines(20)
		l.rotate(200) // none is thrown away
		l.lines(20)
		l.open()
	}
	f.all(t, l.n)
	if s := f.Stats(); s.Gaps != 0 || s.Lost != 0 {
		t.Errorf("%+v", s)
	}
}

// TestFollowCopyTruncate empties the file right after lines that nobody can have
// read yet: they are found in the copy.
func TestFollowCopyTruncate(t *testing.T) {
	l := newLog(t)
	f := follow(t, &heard{}, FollowConfig{File: l.path, Beginning: true})
	for i := range uint64(50) {
		l.lines(10)
		f.all(t, l.n)
		l.lines(10)
		l.copyTruncate()
		if i%2 == 0 { // otherwise the file has grown again before
			program.Eventually(t, "the emptying is seen", func() bool { return f.Stats().Truncations == i+1 })
		}
	}
	l.lines(10)
	f.all(t, l.n)
	if s := f.Stats(); s.Truncations != 50 || s.Lost != 0 || s.Skipped != 0 {
		t.Errorf("%+v", s)
	}
}

// TestFollowCopyTruncateUnderLoad has a writer that does not wait: what it
// writes between copy and emptying is lost to everybody, and nothing comes twice.
func TestFollowCopyTruncateUnderLoad(t *testing.T) {
	l := newLog(t)
	f := follow(t, &heard{}, FollowConfig{File: l.path, Beginning: true})
	written := make(chan struct{})
	go func() {
		defer close(written)
		for range 400 {
			l.lines(50)
			time.Sleep(500 * time.Microsecond) // the pace of the load, not a wait
		}
	}()
	rotations := 0
	for done := false; !done; rotations++ {
		select {
		case <-written:
			done = true
		case <-time.After(20 * time.Millisecond):
		}
		l.copyTruncate()
	}
	l.lines(1)
	program.Eventually(t, "the last line", func() bool { f.heard.mu.Lock(); defer f.heard.mu.Unlock(); return f.heard.times[l.n-1] == 1 })
	program.Eventually(t, "nothing is left but half lines, where a copy was made during a write", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, tail := range f.tails {
			if info, err := tail.file.Stat(); err != nil || info.Size()-tail.mark.offset >= int64(len(numbered(l.n))) {
				return false
			}
		}
		return true
	})
	once, twice := f.heard.of(l.n)
	s := f.Stats()
	t.Logf("%d of %d lines, %d rotations, %d noticed", once, l.n, rotations, s.Truncations)
	if twice > 0 || s.Truncations == 0 || once < l.n/2 {
		t.Errorf("%d of %d lines, %d twice, %+v", once, l.n, twice, s)
	}
}

// TestFollowCopyWithAnOldInode: a copy may get the inode of a rotated file that was read,
// closed and overwritten. It is a copy all the same, and nothing of it is read.
func TestFollowCopyWithAnOldInode(t *testing.T) {
	l := newLog(t)
	l.lines(10)
	text, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	copied := l.path + ".1"
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := NewFollower(FollowConfig{File: l.path, Live: Live{Now: time.Now, Decide: (&heard{}).decide}})
	if err != nil {
		t.Fatal(err)
	}
	read, err := openTail(l.path)
	if err != nil {
		t.Fatal(err)
	}
	defer read.file.Close()
	f.beginnings.note(read)
	info, err := os.Stat(copied)
	if err != nil {
		t.Fatal(err)
	}
	gone := read.place()
	gone.Offset, gone.Before = 5, 1 // of another text
	f.remember(closing{place: gone, info: info})
	opened, _, err := f.openMissed([]rotated{{copied, info}}, func(os.FileInfo) bool { return false })
	if err != nil || opened {
		t.Errorf("opened %v, %v: the copy's lines count twice", opened, err)
	}
}

// TestFollowCopyOfWhatIsToBeRead: a copy of a log of which nothing was read yet is left alone
// while the log has its lines, and read when it was emptied.
func TestFollowCopyOfWhatIsToBeRead(t *testing.T) {
	l := newLog(t)
	l.lines(10)
	f, err := NewFollower(FollowConfig{File: l.path, Live: Live{Now: time.Now, Decide: (&heard{}).decide}})
	if err != nil {
		t.Fatal(err)
	}
	f.watcher = newWatcher()
	defer f.end()
	log, err := openTail(l.path)
	if err != nil {
		t.Fatal(err)
	}
	f.tails = []*tail{log}
	f.beginnings.note(log)
	copied := func() (opened bool, left int) {
		info, err := os.Stat(l.path + ".1")
		if err != nil {
			t.Fatal(err)
		}
		opened, rest, err := f.openMissed([]rotated{{l.path + ".1", info}}, func(os.FileInfo) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		return opened, len(rest)
	}
	if err := os.Truncate(l.path, 0); err != nil {
		t.Fatal(err)
	}
	l.lines(10) // the next ones, which nobody has read
	text, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.path+".1", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if opened, left := copied(); opened || left != 1 {
		t.Errorf("opened %v, %d left: its lines are also in the log", opened, left)
	}
	if err := os.Truncate(l.path, 0); err != nil {
		t.Fatal(err)
	}
	if opened, left := copied(); !opened || left != 0 {
		t.Errorf("opened %v, %d left: its lines are nowhere else", opened, left)
	}
}

// TestFollowHole is a writer without O_APPEND: after the emptying it goes on at
// its old offset, behind a hole of NULs.
func TestFollowHole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	l := &log{t: t, path: path, file: file}
	defer file.Close()
	f := follow(t, &heard{}, FollowConfig{File: path, Beginning: true})
	for i := range 5 {
		l.lines(3000)
		f.all(t, l.n)
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			program.Eventually(t, "the emptying is seen", func() bool { return f.Stats().Truncations > uint64(i) })
		}
	}
	l.lines(5)
	f.all(t, l.n)
	if s := f.Stats(); s.Truncations < 5 || s.Skipped != 0 {
		t.Errorf("%+v", s)
	}
}

func TestFollowDeleteAndLinks(t *testing.T) {
	t.Run("delete and create", func(t *testing.T) {
		l := newLog(t)
		f := follow(t, &heard{}, FollowConfig{File: l.path, Beginning: true})
		for range 100 {
			l.lines(10)
			f.all(t, l.n) // what is written and deleted within a look is gone
			if err := os.Remove(l.path); err != nil {
				t.Fatal(err)
			}
			l.lines(10) // it is still open in both
			l.open()
		}
		l.lines(1)
		f.all(t, l.n)
		if s := f.Stats(); s.Rotations != 100 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("links", func(t *testing.T) {
		folder := t.TempDir()
		link := filepath.Join(folder, "access.log")
		f := follow(t, &heard{}, FollowConfig{File: link, Beginning: true})
		l := &log{t: t}
		for i := range 100 {
			l.path = filepath.Join(folder, fmt.Sprintf("2026-%03d.log", i%50)) // each comes twice
			l.open()
			l.lines(10)
			if err := os.Symlink(l.path, link+".new"); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(link+".new", link); err != nil {
				t.Fatal(err)
			}
			l.lines(10)
			f.all(t, l.n)
		}
		l.file.Close()
	})
}

// TestFollowKilled ends a follower at any moment and goes on from the position
// that was last saved together with the counts, whatever has been rotated
// meanwhile.
func TestFollowKilled(t *testing.T) {
	l := newLog(t)
	var saved Position
	total := &heard{}
	for round := range 60 {
		var gate sync.Mutex
		h := &heard{}
		f := follow(t, h, FollowConfig{File: l.path, Beginning: true, From: saved, Gate: &gate})
		l.lines(100)
		program.Eventually(t, "a line is read", func() bool { _, n := h.of(0); return n == 0 && f.Stats().Events > 0 })
		l.lines(900)
		gate.Lock()
		saved = f.Position()
		for n, times := range h.times {
			if total.times == nil {
				total.times = map[int]int{}
			}
			total.times[n] += times
		}
		gate.Unlock()
		l.lines(10) // may be decided, and is forgotten: it comes again
		f.stop()
		switch round % 5 {
		case 1:
			l.rotate(200)
			l.open()
		case 2:
			l.rotate(200)
			l.lines(10)
			l.open()
			l.lines(10)
			l.rotate(200) // nobody has seen this file
			l.open()
		case 3:
			l.copyTruncate()
		case 4:
			l.lines(10)
			l.copyTruncate()
			l.lines(10)
		}
		l.lines(10)
	}
	follow(t, total, FollowConfig{File: l.path, From: saved}).all(t, l.n)
}

// TestFollowPaused is a follower that does not get to read while the log is
// rotated several times.
func TestFollowPaused(t *testing.T) {
	l := newLog(t)
	var gate sync.Mutex
	f := follow(t, &heard{}, FollowConfig{File: l.path, Beginning: true, Gate: &gate})
	l.lines(1)
	f.all(t, 1)
	for range 20 {
		gate.Lock()
		l.lines(100)
		for range 5 {
			l.rotate(200)
			l.open()
			l.lines(100)
		}
		gate.Unlock()
		f.all(t, l.n)
	}
}

// TestFollowAnotherFile is a saved position whose inode another file has now.
func TestFollowAnotherFile(t *testing.T) {
	l := newLog(t)
	l.lines(10)
	f := follow(t, &heard{}, FollowConfig{File: l.path, Beginning: true})
	f.all(t, 10)
	f.stop()
	saved := f.Position()
	if err := os.Truncate(l.path, 0); err != nil {
		t.Fatal(err)
	}
	l.lines(40) // longer than before
	g := follow(t, f.heard, FollowConfig{File: l.path, From: saved})
	g.all(t, 50)
	if s := g.Stats(); s.Gaps != 1 {
		t.Errorf("%+v", s)
	}
}

// TestFollowRewritten is a rotated file that somebody writes again: nothing in it
// is a new request.
func TestFollowRewritten(t *testing.T) {
	l := newLog(t)
	f := follow(t, &heard{}, FollowConfig{File: l.path, Beginning: true})
	l.lines(50)
	f.all(t, l.n)
	l.rotate(1)
	l.open()
	l.lines(1)
	f.all(t, l.n)
	anonymous := ""
	for i := range 50 {
		anonymous += "203.0.113.0" + numbered(i)[len("192.0.2.1"):]
	}
	old, err := os.OpenFile(l.path+".1", os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if _, err := old.WriteString(anonymous); err != nil {
		t.Fatal(err)
	}
	program.Eventually(t, "it is seen", func() bool { return len(f.Position().Files) == 1 })
	if _, err := old.WriteString(anonymous); err != nil { // it goes on
		t.Fatal(err)
	}
	l.lines(1)
	f.all(t, l.n)
}
