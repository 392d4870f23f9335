package accesslog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// FollowConfig says which file is followed and how.
type FollowConfig struct {
	Live
	// File is the path to follow; it may be a symbolic link, and need not exist
	// yet.
	File string
	// From is where to go on; the zero value means a first start.
	From Position
	// Restored says that From was saved by a process before this one, which may have read
	// on: what is in the log when it is found is [edgeguard.Event.Again].
	Restored bool
	// Beginning reads the file from its beginning on a first start; otherwise
	// what is in it already is passed over. A file that comes later is always
	// read from its beginning.
	Beginning bool
	// Gate, if set, is held while a batch is decided and the position moves on
	// to its end. Whoever holds it sees counts and position of the same moment:
	// that is how a snapshot cuts, and why no line is counted twice after a
	// restart. A sync.RWMutex's RLocker serves several followers.
	Gate sync.Locker
	// Placed, if set, is called once when there is a first place to go on from: the
	// log was found, or found not to be there yet. Until that is stored, a
	// process that is killed begins at the log's end once more. It is called by
	// Run, without the gate.
	Placed func()
	// Poll is how often the file is looked at where the kernel does not report
	// its changes; 0 means 100 ms.
	Poll time.Duration
	// Linger is how long a file that was rotated away is still read after its
	// last line, because a server writes to it until it is reloaded; 0 means 1
	// minute.
	Linger time.Duration
}

const (
	defaultPoll   = 100 * time.Millisecond
	defaultLinger = time.Minute
	maxRetry      = 5 * time.Second  // between attempts to open a file that cannot be read
	patience      = 10 * time.Second // for a path that is gone: a rotation is not instantaneous
	maxTails      = 64               // open together
)

// Follower follows one log file through rename, emptying in place, deletion and
// links that are moved. Run is called once; Position and Stats are safe for
// concurrent use. Make one with [NewFollower].
type Follower struct {
	config FollowConfig
	in     *inlet
	*readBuffer
	taken int // bytes of the last turn
	// elsewhere, if set, reports whether another follower reads a file. The path need not
	// lead anywhere then.
	elsewhere func(os.FileInfo) bool

	missing time.Time // since when the path leads nowhere; zero while it leads somewhere
	failing bool      // an open file cannot be read
	retry   time.Duration
	nextTry time.Time
	// found says that the path was looked at since begun, and led to a file or to nothing:
	// what is opened later and was written since then is new.
	found bool
	begun time.Time
	// since only moves on: rotated files that were not written to since have been
	// read, or are older than what is followed.
	since      time.Time
	read       bool // the folder, since the start
	beginnings beginnings
	// unread are the rotated files that were seen and could not be opened yet;
	// full says that some files wait for room.
	unread map[inode]unread
	full   bool
	// scans are still to be made for files that were missed, the next at nextScan.
	scans    int
	nextScan time.Time

	mu    sync.Mutex // guards the rest, where others than Run read it
	tails []*tail    // the oldest first; the last is the one to which the path led
	// saved are the places of an earlier run whose files have not been found;
	// the next file at the path may be one of them, once it can be read.
	saved []Place
	seen  time.Time
	// owed is when the oldest of the rotated files was written that are still to
	// be opened; zero while there are none.
	owed   time.Time
	closed map[inode]closing
	stats  FollowStats
}

// NewFollower checks the config. The file is opened by Run.
func NewFollower(c FollowConfig) (*Follower, error) {
	if c.File == "" {
		return nil, errors.New("live log: no file name")
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	if c.Poll == 0 {
		c.Poll = defaultPoll
	}
	if c.Linger == 0 {
		c.Linger = defaultLinger
	}
	c.Linger = max(c.Linger, 5*clockGrain) // a file must not look new just after it was closed
	if c.Gate == nil {
		c.Gate = &sync.Mutex{}
	}
	f := &Follower{config: c, readBuffer: &readBuffer{}, saved: slices.Clone(c.From.Files), seen: c.From.Seen, since: c.From.Seen}
	if c.Beginning && f.since.IsZero() {
		f.since = time.Now() // what is rotated away before Run looks is read too
	}
	f.in = newInlet(&f.config.Live, c.File)
	return f, nil
}

// Run follows the file until ctx ends, and then returns nil. What goes wrong with
// the file is reported as trouble and tried again; it does not stop the follower.
func (f *Follower) Run(ctx context.Context) error {
	f.begin()
	defer f.end()
	for ctx.Err() == nil {
		if f.pass(ctx) {
			f.watcher.wait(ctx, f.config.Poll, f.pause())
		}
	}
	return nil
}

// pass reads what is new, looks where the path leads, and reports whether all was read.
func (f *Follower) pass(ctx context.Context) (done bool) {
	done = f.drain(ctx)
	f.look()
	return done
}

// begin opens what there is to read; end closes it.
func (f *Follower) begin() {
	f.open()
	f.begun = time.Now()
	if f.since.IsZero() {
		f.since = time.Now()
	}
	f.watcher.add(filepath.Dir(f.config.File))
	f.resume()
	f.look()
}

// pause returns the least time from one wake-up to the next.
func (f *Follower) pause() time.Duration {
	if f.taken >= much {
		return longSettle
	}
	return settle
}

// resume opens the files of the saved position, and those between them and now.
func (f *Follower) resume() {
	open := f.tails // already, of one of many
	var missed []Place
	for i := range f.saved {
		if t := find(f.config.File, &f.saved[i]); t != nil {
			f.note(t)
			f.watcher.add(filepath.Dir(t.name))
			open = append(open, t)
		} else {
			missed = append(missed, f.saved[i])
		}
	}
	// Older files had been read, and were only kept for latecomers.
	if n := len(missed); n > 0 && missed[n-1] != f.saved[len(f.saved)-1] {
		missed = nil
	}
	f.mu.Lock()
	f.tails, f.saved = open, missed
	f.mu.Unlock()
	if !f.seen.IsZero() {
		_ = f.catchUp() // what could not be opened is owed, and look tries it again
	}
}

// claim returns a file that could not be read when the follower started the place
// at which it was left. Places that are of another file have no file any more.
func (f *Follower) claim(t *tail) {
	f.note(t)
	found := false
	for i := range f.saved {
		found = found || f.saved[i].of(t.info) && t.resume(&f.saved[i])
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.saved) > 0 && !found {
		f.stats.Gaps++
	}
	f.saved = nil
}

// note notes how much of a file that has been opened a process before may have read.
func (f *Follower) note(t *tail) {
	if f.config.Restored && (!f.found || t.info.ModTime().Before(f.begun)) {
		t.again = t.reach
	}
}

// look sees where the path leads, and opens the file if it is another.
func (f *Follower) look() {
	f.forget()
	now := time.Now()
	if now.Before(f.nextTry) {
		return
	}
	info, err := os.Stat(f.config.File)
	if err != nil {
		f.absent(now, err)
		return
	}
	f.missing = time.Time{}
	if n := len(f.tails); n > 0 && os.SameFile(info, f.tails[n-1].info) {
		err = f.scanAgain(now)
	} else if f.elsewhere != nil && f.elsewhere(info) {
		err = fs.ErrNotExist
	} else {
		err = f.turn()
	}
	if err != nil {
		f.absent(now, err)
		return
	}
	f.well(now)
}

// well notes that the path was looked at and led to the file that is read.
func (f *Follower) well(now time.Time) {
	f.retry, f.nextTry = 0, time.Time{}
	if !f.failing {
		f.in.troubles.set(atFile, nil)
	}
	f.saw(now)
}

// saw notes when the path was looked at.
func (f *Follower) saw(now time.Time) {
	f.found = true
	first := f.seen.IsZero()
	f.mu.Lock()
	f.seen = now
	f.mu.Unlock()
	if first && f.config.Placed != nil {
		f.config.Placed()
	}
}

// absent notes that the path leads to nothing that can be read. A file that is
// not there is looked for at every turn; another error is tried less and less
// often.
func (f *Follower) absent(now time.Time, err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		f.retry = min(max(2*f.retry, f.config.Poll), maxRetry)
		f.nextTry = now.Add(f.retry)
		f.in.troubles.set(atFile, fmt.Errorf("cannot follow the log: %w; retrying", err))
		return
	}
	f.found = true
	if f.seen.IsZero() {
		f.saw(now) // what comes later is read from its beginning
	}
	f.watcher.add(filepath.Dir(f.config.File)) // its folder may be new too
	if f.missing.IsZero() {
		f.missing = now
	}
	if f.elsewhere == nil && (len(f.tails) == 0 || now.Sub(f.missing) > patience) {
		f.in.troubles.set(atFile, missingError(f.config.File))
	}
}

// turn opens the file to which the path leads now. The one before it stays
// open, and is read first, as long as its writer may still write. While older
// ones wait for room, the newest is left where it is.
func (f *Follower) turn() error {
	t, err := openTail(f.config.File)
	if err != nil {
		return err
	}
	first := f.seen.IsZero()
	f.claim(t)
	if !first && (len(f.tails) > 0 || !f.owed.IsZero()) {
		if err := f.catchUp(); err != nil {
			_ = t.file.Close()
			return err
		}
		if f.full && t.mark.offset == 0 {
			_ = t.file.Close()
			return nil
		}
	}
	if first && !f.config.Beginning {
		if err := t.end(); err != nil {
			_ = t.file.Close()
			return err
		}
	}
	f.scans, f.nextScan = scans, time.Now().Add(f.config.Poll)
	if old := f.tailOf(t.info); old != nil { // a link that was moved back
		_ = t.file.Close()
		f.moveLast(old)
		return nil
	}
	f.push(t)
	return nil
}

// push adds a file that took the place of the others.
func (f *Follower) push(t *tail) {
	f.watcher.add(filepath.Dir(t.name))
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.tails) > 0 {
		f.stats.Rotations++
	}
	for _, old := range f.tails {
		old.last = now
	}
	f.tails = append(f.tails, t)
}

func (f *Follower) end() {
	f.watcher.close()
	f.closeFiles()
}

func (f *Follower) closeFiles() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.tails {
		_ = t.file.Close()
	}
}

// missingError is that the file of a log is not there yet; it is [fs.ErrNotExist].
type missingError string

func (e missingError) Error() string {
	return "the log " + string(e) + " does not exist; waiting for it"
}

func (missingError) Is(target error) bool { return target == fs.ErrNotExist }
