package accesslog

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"edgeguard/internal/safetext"
)

// MostFollowed is how many files of a pattern are followed together.
const MostFollowed = 512

const (
	lookEvery = time.Second // at the names
	// memberPoll is how often a file is looked at, for each of them, and memberPause how
	// long after news there is none, so that many files take few processors.
	memberPoll  = time.Millisecond
	memberPause = 100 * time.Microsecond
	atFiles     = "files"
)

// PatternConfig says which files are followed.
type PatternConfig struct {
	// FollowConfig holds for each; its File is the pattern, as [filepath.Match] has it, and
	// its From when the names were last looked at, as a process before this one saved it.
	FollowConfig
	// Saved are the positions of files, by name.
	Saved map[string]Position
	// Except are files, or patterns of files, that other sources read.
	Except []string
}

// PatternFollower follows the files that match a pattern, as they come and go, each as a
// [Follower] does. Which files these are is decided by what they are and not by their
// names, which strangers may choose: a file is followed once it is written to, once
// whatever it is called, through its own rotation. Run is called once; Positions and Stats are
// safe for concurrent use. Make one with [NewPatternFollower].
type PatternFollower struct {
	config  PatternConfig
	buffer  *readBuffer
	members map[string]*member
	names   []string // that match, in order
	// sighted are the files that matched when the names were last looked at.
	sighted  map[inode]sighting
	looked   time.Time // zero before the first look
	none     time.Time // since when nothing matches
	waiting  int       // files that are written to and have no room
	troubles troubles
	wrong    map[string]map[string]error // at what, of which file

	mu    sync.Mutex // guards members for others than Run, and the rest
	left  map[string]Position
	seen  time.Time
	ended FollowStats // of followers that were stopped
}

// member is one of the files.
type member struct {
	*Follower
	gone time.Time // since when no such name is there
}

// NewPatternFollower checks the config. Files are opened by Run.
func NewPatternFollower(c PatternConfig) (*PatternFollower, error) {
	if _, err := filepath.Match(c.File, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	if _, err := NewFollower(c.FollowConfig); err != nil {
		return nil, err
	}
	g := &PatternFollower{config: c, buffer: &readBuffer{}, members: map[string]*member{}, left: map[string]Position{}, seen: c.From.Seen, wrong: map[string]map[string]error{}}
	g.troubles.tell = c.Trouble
	for path, at := range c.Saved {
		if !g.excepted(path) {
			g.left[path] = at // of all, before one may take another's file for what a rotation left
		}
	}
	return g, nil
}

// Run follows the files until ctx ends, and then returns nil.
func (g *PatternFollower) Run(ctx context.Context) error {
	g.buffer.open()
	defer g.end()
	var next time.Time
	for g.looked.IsZero() || ctx.Err() == nil { // where to begin is known, however soon it ends
		now := time.Now()
		look := !now.Before(next)
		done, pause := g.pass(ctx, now, look)
		if look {
			next = time.Now().Add(max(lookEvery, 20*time.Since(now)))
		}
		if n := time.Duration(len(g.members)); done {
			g.buffer.watcher.wait(ctx, max(defaultPoll, n*memberPoll), max(pause, n*memberPause))
		}
	}
	return nil
}

// pass reads what is new in all files, once it has looked at their names, and reports whether all was read.
func (g *PatternFollower) pass(ctx context.Context, now time.Time, look bool) (done bool, pause time.Duration) {
	if look {
		g.look(now)
	}
	done, pause = true, settle
	for _, m := range g.members {
		done = m.pass(ctx) && done
		pause = max(pause, m.pause())
	}
	g.report()
	return done, pause
}

func (g *PatternFollower) end() {
	g.buffer.watcher.close()
	for _, m := range g.members {
		m.closeFiles()
	}
}

// begin follows a file: from where a tail of it is, or from a saved position.
func (g *PatternFollower) begin(path string, t *tail, from Position) {
	c := g.config.FollowConfig
	c.File, c.From, c.Restored, c.Beginning = path, from, c.Restored && g.looked.IsZero(), false
	c.Trouble = func(at string, err error) { g.trouble(path, at, err) }
	f, err := NewFollower(c)
	if err != nil { // it was checked
		g.trouble(path, atFile, err)
		return
	}
	f.readBuffer = g.buffer
	f.elsewhere = func(info os.FileInfo) bool { return g.reads(info, f) || g.goesOn(info) || g.pinned(path) }
	g.mu.Lock()
	delete(g.left, path)
	g.mu.Unlock()
	if t != nil {
		f.note(t)
		f.tails = []*tail{t}
		f.watcher.add(filepath.Dir(t.name))
	}
	f.begin()
	g.mu.Lock()
	g.members[path] = &member{Follower: f}
	g.mu.Unlock()
}

// stop ends the following of a file, which may go on later.
func (g *PatternFollower) stop(path string, m *member) {
	for _, t := range m.tails {
		if info, err := t.file.Stat(); err == nil {
			s := sighting{size: t.mark.offset, changed: info.ModTime()}
			if s.size != info.Size() && !t.finished {
				s.changed = time.Time{}
			}
			g.sighted[identityOf(path, info)] = s
		}
	}
	m.closeFiles()
	for at := range g.wrong {
		g.trouble(path, at, nil)
	}
	position, s := m.Position(), m.Stats()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.members, path)
	if len(g.left) < mostLeft {
		g.left[path] = position
	}
	s.Last, s.Shown, s.Others, s.Unread, s.Behind = time.Time{}, nil, nil, nil, 0
	g.ended.add(&s)
}

// pinned reports whether a path is one that a rotation gives. Another file that comes there may be a
// copy of what was read, and is looked at as any new one.
func (g *PatternFollower) pinned(path string) bool {
	return slices.ContainsFunc(g.names, func(name string) bool { return rotates(name, path) })
}

// goesOn reports whether a file is to be read on from where it was left.
func (g *PatternFollower) goesOn(info os.FileInfo) bool {
	for _, at := range g.left {
		if areOf(at.Files, info) {
			return true
		}
	}
	return false
}

// areOf reports whether one of the places is in a file.
func areOf(places []Place, info os.FileInfo) bool {
	return slices.ContainsFunc(places, func(p Place) bool { return p.Inode != 0 && p.of(info) })
}

// reads reports whether another follower than f reads a file, or will go on with it.
func (g *PatternFollower) reads(info os.FileInfo, f *Follower) bool {
	for _, m := range g.members {
		if m.Follower == f {
			continue
		}
		if m.tailOf(info) != nil || areOf(m.saved, info) {
			return true
		}
	}
	return false
}

// trouble notes what is wrong with a file, and report tells it: one text for all of them.
func (g *PatternFollower) trouble(path, at string, err error) {
	if g.wrong[at] == nil {
		g.wrong[at] = map[string]error{}
	}
	if g.wrong[at][path] = err; err == nil {
		delete(g.wrong[at], path)
	}
}

func (g *PatternFollower) report() {
	for at, files := range g.wrong {
		if len(files) == 0 {
			g.troubles.set(at, nil)
			continue
		}
		text := safetext.Strip(files[slices.Min(slices.Collect(maps.Keys(files)))].Error())
		if more := len(files) - 1; more > 0 {
			text += fmt.Sprintf(" (and %d more files of %s)", more, g.config.File)
		}
		g.troubles.set(at, errorText(text))
	}
}

// errorText is an error that was made safe to show.
type errorText string

func (e errorText) Error() string { return string(e) }

// Stats says how far all the files are, also those that are not followed any more.
func (g *PatternFollower) Stats() FollowStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.ended
	for _, m := range g.members {
		s := m.Stats()
		all.add(&s)
	}
	all.Files = len(g.members)
	all.Troubles, all.Err = g.troubles.all()
	return all
}

// Positions returns how far each file is, and under the pattern when the names were last
// looked at. They stay after Run has ended.
func (g *PatternFollower) Positions() map[string]Position {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := maps.Clone(g.left)
	for path, m := range g.members {
		all[path] = m.Position()
	}
	all[g.config.File] = Position{Seen: g.seen.Round(0)}
	return all
}

// add adds the figures of another follower.
func (s *FollowStats) add(o *FollowStats) {
	s.Lines, s.Events, s.Skipped, s.Partial = s.Lines+o.Lines, s.Events+o.Events, s.Skipped+o.Skipped, s.Partial+o.Partial
	s.Suppressed += o.Suppressed
	s.Quiet += o.Quiet
	if len(o.Unread) > 0 {
		s.Unread = o.Unread
	}
	s.Late, s.Early = s.Late+o.Late, s.Early+o.Early
	s.Behind, s.Rotations, s.Truncations = s.Behind+o.Behind, s.Rotations+o.Rotations, s.Truncations+o.Truncations
	s.Lost, s.Gaps = s.Lost+o.Lost, s.Gaps+o.Gaps
	s.BehindFor = max(s.BehindFor, o.BehindFor)
	if o.Off.Lines > s.Off.Lines {
		s.Off = o.Off
	}
	if o.Last.After(s.Last) {
		s.Last, s.Age = o.Last, o.Age
	}
	if len(o.Shown) > 0 {
		s.Shown = o.Shown
	}
	if len(s.Others) == 0 {
		s.Others = o.Others
	}
}
