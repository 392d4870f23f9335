package accesslog

import (
	"compress/gzip"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/program"
)

// patterned is a pattern's follower that runs only when it is told to, in a folder whose files are
// written to. Its lines are numbered over all files.
type patterned struct {
	*log
	folder string
	heard  heard
	*PatternFollower
	told  map[string]string // the last trouble, by what it is with
	ahead time.Duration     // of the clock
}

func newPatterned(t *testing.T, pattern string) *patterned {
	folder := t.TempDir()
	p := &patterned{log: &log{t: t}, folder: folder}
	p.start(pattern, nil)
	t.Cleanup(func() { p.end() })
	return p
}

// start makes the follower, after those positions.
func (p *patterned) start(pattern string, saved map[string]Position) {
	p.t.Helper()
	p.told = map[string]string{}
	c := PatternConfig{Saved: maps.Clone(saved), FollowConfig: FollowConfig{File: p.in(pattern), Restored: saved != nil, Poll: 1, Live: Live{
		Format: format("combined"), Now: time.Now, Decide: p.heard.decide,
		Trouble: func(at string, err error) { p.told[at] = fmt.Sprint(err) },
	}}}
	c.From = saved[c.File]
	delete(c.Saved, c.File)
	g, err := NewPatternFollower(c)
	if err != nil {
		p.t.Fatal(err)
	}
	g.buffer.open()
	p.PatternFollower = g
	p.pass()
}

// restart ends the follower and starts another, while which something is done.
func (p *patterned) restart(pattern string, meanwhile func()) {
	p.t.Helper()
	saved := p.Positions()
	p.end()
	meanwhile()
	p.start(pattern, saved)
	p.pass()
}

func (p *patterned) in(name string) string { return filepath.Join(p.folder, name) }

// pass looks at the names and reads, until there is nothing more.
func (p *patterned) pass() {
	p.t.Helper()
	now := time.Now().Add(p.ahead)
	for done := 0; done < 2; { // the first opens what the second reads
		if all, _ := p.PatternFollower.pass(p.t.Context(), now, true); all {
			done++
		}
	}
}

// later is pass when some time has gone by.
func (p *patterned) later(d time.Duration) {
	p.t.Helper()
	p.ahead += d
	p.pass()
}

// write appends the next n lines to a file.
func (p *patterned) write(name string, n int) {
	p.t.Helper()
	p.path = p.in(name)
	p.log.open()
	p.lines(n)
	p.file.Close()
	p.file = nil
	p.touch(name)
}

// touch has a file written to now.
func (p *patterned) touch(name string) {
	p.t.Helper()
	now := time.Now().Add(p.ahead)
	if err := os.Chtimes(p.in(name), now, now); err != nil {
		p.t.Fatal(err)
	}
}

func (p *patterned) move(from, to string) {
	p.t.Helper()
	if err := os.Rename(p.in(from), p.in(to)); err != nil {
		p.t.Fatal(err)
	}
}

// copyTo copies a file as logrotate does, to where it was rotated away.
func (p *patterned) copyTo(from, to string) {
	p.t.Helper()
	b, err := os.ReadFile(p.in(from))
	if err == nil {
		err = os.WriteFile(p.in(to), b, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *patterned) truncate(name string) {
	p.t.Helper()
	if err := os.Truncate(p.in(name), 0); err != nil {
		p.t.Fatal(err)
	}
}

// zip compresses a file, as logrotate does.
func (p *patterned) zip(name string) {
	p.t.Helper()
	b, err := os.ReadFile(p.in(name))
	if err != nil {
		p.t.Fatal(err)
	}
	f, err := os.Create(p.in(name + ".gz"))
	if err != nil {
		p.t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	_, _ = z.Write(b)
	_ = z.Close()
	_ = f.Close()
	if err := os.Remove(p.in(name)); err != nil {
		p.t.Fatal(err)
	}
}

// once holds that each line was heard once, but those before the first.
func (p *patterned) once(first int) {
	p.t.Helper()
	for n := range p.n {
		want := 1
		if n < first {
			want = 0
		}
		if got := p.heard.times[n]; got != want {
			p.t.Fatalf("line %d of %d was heard %d times, want %d; followed: %v", n, p.n, got, want, p.followed())
		}
	}
	if s := p.Stats(); s.Skipped > 0 || s.Lost > 0 || s.Gaps > 0 || s.Err != nil {
		p.t.Fatalf("%+v", s)
	}
}

func (p *patterned) followed() (names []string) {
	for path := range p.members {
		names = append(names, filepath.Base(path))
	}
	slices.Sort(names)
	return names
}

func TestPatternComeAndGo(t *testing.T) {
	p := newPatterned(t, "*.log")
	p.write("new.log", 3)
	p.write("other.txt", 1) // does not match
	p.heard.times = map[int]int{3: 1}
	p.pass()
	p.write("new.log", 2)
	p.write("b.log", 2)
	p.pass()
	p.once(0)
	if err := os.Remove(p.in("b.log")); err != nil {
		t.Fatal(err)
	}
	p.write("b.log", 4) // made anew
	p.pass()
	p.once(0)
	if err := os.Remove(p.in("b.log")); err != nil {
		t.Fatal(err)
	}
	p.pass()
	p.later(goneFor + time.Second)
	if got := p.followed(); !slices.Equal(got, []string{"new.log"}) {
		t.Errorf("followed: %v", got)
	}
	p.write("b.log", 1)
	p.pass()
	p.once(0)
	if s := p.Stats(); s.Files != 2 || s.Lines != uint64(p.n-1) || s.Events != uint64(p.n-1) {
		t.Errorf("%+v after %d lines", s, p.n-1)
	}
}

// TestPatternFirstStart: what is there is not read, whether it is written to or not.
func TestPatternFirstStart(t *testing.T) {
	p := &patterned{log: &log{t: t}, folder: t.TempDir()}
	p.write("a.log", 3)
	p.write("idle.log", 3)
	old := time.Now().Add(-2 * freshFor)
	if err := os.Chtimes(p.in("idle.log"), old, old); err != nil {
		t.Fatal(err)
	}
	p.start("*.log", nil)
	t.Cleanup(func() { p.end() })
	if got := p.followed(); !slices.Equal(got, []string{"a.log"}) {
		t.Errorf("followed: %v", got)
	}
	p.write("a.log", 1)
	p.write("idle.log", 1)
	p.pass()
	p.once(6)
}

// TestPatternRotation: whatever a rotation calls its files, and whether the pattern matches those
// names too, each line is heard once.
func TestPatternRotation(t *testing.T) {
	rename := func(to ...string) func(*patterned) {
		return func(p *patterned) {
			for i := len(to) - 1; i >= 0; i-- {
				from := "a.log"
				if i > 0 {
					from = to[i-1]
				}
				if _, err := os.Stat(p.in(from)); err == nil {
					p.move(from, to[i])
				}
			}
		}
	}
	copying := func(to string) func(*patterned) {
		return func(p *patterned) {
			_ = os.Remove(p.in(to))
			p.copyTo("a.log", to)
			p.pass() // sees the copy before the emptying
			p.truncate("a.log")
		}
	}
	for name, rotate := range map[string]func(*patterned){
		"numbers":            rename("a.log.1", "a.log.2", "a.log.3"),
		"numbers first":      rename("a.1.log", "a.2.log"),
		"a date":             func(p *patterned) { p.move("a.log", fmt.Sprintf("a.log-202611%02d", p.n%30)) },
		"another name":       func(p *patterned) { p.move("a.log", fmt.Sprintf("old-%d-a.log", p.n)) },
		"removed":            func(p *patterned) { _ = os.Remove(p.in("a.log")) },
		"copied":             copying("a.log.1"),
		"copied, with a dot": copying("a.1.log"),
		"compressed": func(p *patterned) {
			_ = os.Remove(p.in("a.log.2.gz"))
			if _, err := os.Stat(p.in("a.log.1")); err == nil {
				p.move("a.log.1", "a.log.2")
				p.zip("a.log.2")
			}
			p.move("a.log", "a.log.1")
		},
	} {
		for _, pattern := range []string{"*", "a*", "*.log*", "*.log"} {
			t.Run(name+" "+pattern, func(t *testing.T) {
				p := newPatterned(t, pattern)
				p.write("another.log", 1)
				for i := range 8 {
					p.write("a.log", 5)
					p.pass()
					rotate(p)
					if i%2 == 0 {
						p.pass() // sees what is left, or what is new as well
					}
					p.write("a.log", 5)
					p.pass()
					if i == 5 {
						p.restart(pattern, func() { p.write("a.log", 2); rotate(p); p.write("a.log", 2) })
						if strings.HasPrefix(name, "copied") || name == "removed" {
							return // what was removed while it was down is lost
						}
					}
				}
				p.pass()
				p.once(0)
			})
		}
	}
}

// TestPatternFirstStartBesideRotated: files of a rotation that are followed because they are fresh do
// not have the next ones read again.
func TestPatternFirstStartBesideRotated(t *testing.T) {
	for _, copies := range []bool{false, true} {
		p := &patterned{log: &log{t: t}, folder: t.TempDir()}
		p.write("a.log.1", 3)
		p.write("a.log", 3)
		p.start("*", nil)
		if got := p.followed(); !slices.Equal(got, []string{"a.log", "a.log.1"}) {
			t.Errorf("followed: %v", got)
		}
		for range 4 {
			p.write("a.log", 3)
			p.pass()
			p.move("a.log.1", fmt.Sprintf("a.log.%d", p.n))
			if copies {
				p.copyTo("a.log", "a.log.1")
				p.touch("a.log.1")
				p.pass()
				p.truncate("a.log")
			} else {
				p.move("a.log", "a.log.1")
			}
			p.later(2 * copyFor)
			p.write("a.log", 3)
			p.pass()
		}
		p.once(6)
		p.end()
	}
}

// TestPatternAtRandom: logs are written to, rotated and read in any order, over restarts.
func TestPatternAtRandom(t *testing.T) {
	for round := range 60 {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		pattern := []string{"*", "*.log*", "*.log"}[round%3]
		p := newPatterned(t, pattern)
		change := func() {
			name := fmt.Sprintf("%d.log", random.IntN(3))
			if p.write(name, 1+random.IntN(5)); random.IntN(3) == 0 {
				for keep := 20; keep > 0; keep-- {
					_ = os.Rename(p.in(fmt.Sprintf("%s.%d", name, keep)), p.in(fmt.Sprintf("%s.%d", name, keep+1)))
				}
				p.move(name, name+".1")
			}
		}
		for i := range 3 { // or one may come and be rotated away before it was ever seen
			p.write(fmt.Sprintf("%d.log", i), 1)
		}
		p.pass()
		for range 60 {
			switch n := random.IntN(12); {
			case n == 0:
				p.restart(pattern, func() {
					for range random.IntN(3) {
						change()
					}
				})
			case n < 5:
				p.PatternFollower.pass(t.Context(), time.Now(), n == 1)
			default:
				change()
			}
		}
		for i := range 3 { // what was rotated away unseen is looked for once there is a log again
			p.write(fmt.Sprintf("%d.log", i), 1)
		}
		for range 2 * scans {
			p.pass()
		}
		t.Logf("round %d, pattern %s, seed %d", round, pattern, seed)
		p.once(0)
	}
}

// TestPatternLateWriter: a server writes to a file that was rotated away, also when nobody reads it any more.
func TestPatternLateWriter(t *testing.T) {
	p := newPatterned(t, "*")
	p.write("a.log", 5)
	p.pass()
	p.move("a.log", "a.log.1")
	p.write("a.log", 5)
	p.write("a.log.1", 5)
	p.pass()
	for _, m := range p.members {
		for _, tail := range m.tails {
			tail.last = time.Now().Add(-time.Hour)
		}
		m.scans = 0
	}
	p.later(2 * copyFor)
	p.pass()
	if n := len(p.members[p.in("a.log")].tails); n != 1 {
		t.Fatalf("%d files are open", n)
	}
	p.write("a.log.1", 5)
	p.pass()
	p.once(0)
}

// TestPatternNamesLikeRotated: a stranger who chooses the names of logs (nginx's $host) gets none of them passed
// over for its name, nor read twice.
func TestPatternNamesLikeRotated(t *testing.T) {
	p := newPatterned(t, "*")
	names := []string{"shop.log", "shop-24.log", "shop.log.1", "shop.log.gz", "203.0.113", "203.0.113.8", "new\nline.log", "\x1b[31m.log", "*.log", "[.log", "-n"}
	for range 3 {
		for _, name := range names {
			p.write(name, 2)
		}
		p.pass()
	}
	p.once(0)
	p.move("shop.log", "shop.log.2")
	for _, name := range names {
		p.write(name, 2)
	}
	p.pass()
	for _, name := range names {
		p.write(name, 1)
	}
	p.restart("*", func() {
		for _, name := range names {
			p.write(name, 1)
		}
	})
	p.once(0)
}

// TestPatternOneFileOnce: two names of one file are one log, and what is no file is none.
func TestPatternOneFileOnce(t *testing.T) {
	p := newPatterned(t, "*.log")
	p.write("a.log", 2)
	for _, err := range []error{
		os.Symlink("a.log", p.in("0.log")), os.Link(p.in("a.log"), p.in("hard.log")), os.Mkdir(p.in("folder.log"), 0o700),
		os.Symlink("nowhere", p.in("nowhere.log")), syscall.Mkfifo(p.in("pipe.log"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p.pass()
	p.write("a.log", 2)
	p.pass()
	p.once(0)
	// A link that moves on to the file of the day, which matches as well.
	p.write("b.log", 2)
	p.pass()
	_ = os.Remove(p.in("0.log"))
	if err := os.Symlink("b.log", p.in("0.log")); err != nil {
		t.Fatal(err)
	}
	p.pass()
	p.write("b.log", 2)
	p.write("a.log", 2)
	p.pass()
	p.once(0)
}

// TestPatternMany: more files than are followed together are said, and read once others give way.
func TestPatternMany(t *testing.T) {
	p := newPatterned(t, "*.log")
	for i := range MostFollowed {
		p.write(fmt.Sprintf("%03d.log", i), 1)
	}
	p.pass()
	p.write("late.log", 3)
	p.pass()
	p.pass()
	if want := fmt.Sprintf("1 files of %s are written to and not read: 512 are read together", p.in("*.log")); !strings.HasPrefix(p.told["files"], want) {
		t.Errorf("told %q, want %q", p.told, want)
	}
	p.write("511.log", 1)
	p.later(idleFor + time.Second)
	p.later(idleFor + time.Second)
	if p.once(0); p.told["files"] != "<nil>" || p.members[p.in("late.log")] == nil || len(p.members) != MostFollowed {
		t.Errorf("told %q, %d files", p.told, len(p.members))
	}
	for i := range MostFollowed {
		p.write(fmt.Sprintf("%03d.log", i), 1)
	}
	p.later(2 * idleFor)
	p.later(2 * idleFor)
	p.once(0)
}

// TestPatternRestart goes on where each file was left, also where one was not followed any more.
func TestPatternRestart(t *testing.T) {
	p := newPatterned(t, "*.log")
	for i := range MostFollowed {
		p.write(fmt.Sprintf("%03d.log", i), 1)
	}
	p.pass()
	p.write("late.log", 1)
	p.later(idleFor + time.Second) // one gives way
	p.once(0)
	p.restart("*.log", func() {
		for i := range MostFollowed {
			p.write(fmt.Sprintf("%03d.log", i), 1)
		}
		p.write("made.log", 2)
	})
	p.later(2 * idleFor)
	p.once(0)
}

// TestPatternAgain: what a process before may have read is marked, new files included.
func TestPatternAgain(t *testing.T) {
	p := newPatterned(t, "*.log")
	p.write("a.log", 1)
	p.pass()
	again := map[string]bool{}
	saved := p.Positions()
	p.write("a.log", 1)
	p.write("b.log", 1)
	p.config.Decide = func(_ time.Time, events []edgeguard.Event) {
		for i := range events {
			again[strings.Clone(events[i].Path)] = events[i].Again
		}
	}
	g, err := NewPatternFollower(PatternConfig{Saved: map[string]Position{p.in("a.log"): saved[p.in("a.log")]}, FollowConfig: FollowConfig{
		File: p.in("*.log"), From: saved[p.in("*.log")], Restored: true, Live: p.config.Live,
	}})
	if err != nil {
		t.Fatal(err)
	}
	g.buffer.open()
	defer g.end()
	g.pass(t.Context(), time.Now(), true)
	p.write("c.log", 1)
	g.pass(t.Context(), time.Now(), true)
	if want := map[string]bool{"/1": true, "/2": true, "/3": false}; !maps.Equal(again, want) {
		t.Errorf("%v, want %v", again, want)
	}
}

// TestPatternTrouble: what is wrong with files is one text, safe to show.
func TestPatternTrouble(t *testing.T) {
	p := newPatterned(t, "*.log")
	p.later(patience + time.Second)
	if want := "no file matches " + p.in("*.log") + "; waiting for one"; p.told["files"] != want {
		t.Errorf("told %q, want %q", p.told, want)
	}
	for _, name := range []string{"a\nb.log", "c.log"} {
		if err := os.WriteFile(p.in(name), []byte(strings.Repeat("no line\n", misfit)), 0o600); err != nil {
			t.Fatal(err)
		}
		p.touch(name)
	}
	p.pass()
	if !strings.HasPrefix(p.told["format"], p.in("a b.log")+": none of the last 20 lines") || !strings.HasSuffix(p.told["format"], " (and 1 more files of "+p.in("*.log")+")") {
		t.Errorf("told %q", p.told)
	}
	for _, name := range []string{"a\nb.log", "c.log"} {
		_ = os.Remove(p.in(name))
	}
	p.pass()
	p.later(goneFor + time.Minute)
	p.later(goneFor + time.Minute)
	if p.Stats().Err == nil || strings.Contains(p.Stats().Err.Error(), "b.log") {
		t.Errorf("%v", p.Stats().Err)
	}
}

// TestPatternRuns is one that runs by itself.
func TestPatternRuns(t *testing.T) {
	p := &patterned{log: &log{t: t}, folder: t.TempDir()}
	g, err := NewPatternFollower(PatternConfig{
		FollowConfig: FollowConfig{File: p.in("*/*.log"), Live: Live{Now: time.Now, Decide: p.heard.decide}},
		Except:       []string{p.in("a/not.log")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"a", "b"} {
		if err := os.Mkdir(p.in(host), 0o700); err != nil {
			t.Fatal(err)
		}
		p.write(host+"/x.log", 1)
	}
	stop := runs(t, g)
	program.Eventually(t, "the files are found", func() bool { return g.Stats().Files == 2 })
	p.write("a/not.log", 1)
	p.write("a/not-20261128.log", 1)
	p.write("b/x.log", 2)
	p.write("a/new.log", 2)
	program.Eventually(t, "four lines", func() bool { return g.Stats().Lines == 4 })
	stop()
	if once, twice := p.heard.of(p.n); once != 4 || twice != 0 {
		t.Errorf("%d once, %d twice", once, twice)
	}
}

func TestPatternRefused(t *testing.T) {
	if _, err := NewPatternFollower(PatternConfig{FollowConfig: FollowConfig{File: "/var/log/[*", Live: Live{Now: time.Now, Decide: func(time.Time, []edgeguard.Event) {}}}}); err == nil {
		t.Error("a bad pattern")
	}
}
