package accesslog

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/program"
)

// againHeard is the numbers of lines, by whether a process before may have read them.
type againHeard struct {
	mu    sync.Mutex // guards lines
	lines map[int]bool
}

func (h *againHeard) decide(_ time.Time, events []edgeguard.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range events {
		n, _ := strconv.Atoi(strings.TrimPrefix(events[i].Path, "/"))
		h.lines[n] = events[i].Again
	}
}

// first waits until so many lines were heard, and returns the first that is new.
func (h *againHeard) first(t *testing.T, lines int) int {
	t.Helper()
	count := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.lines)
	}
	program.Eventually(t, "all lines are heard", func() bool { return count() == lines })
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range lines {
		if !h.lines[n] {
			for k := n; k < lines; k++ {
				if h.lines[k] {
					t.Errorf("line %d is new, and line %d is not", n, k)
				}
			}
			return n
		}
	}
	return lines
}

// tick waits until a file that is written is stamped with a time after this call: a kernel
// stamps with the time of its last tick, and what is stamped with one before the follower
// began may have been read before.
func tick(t *testing.T) {
	t.Helper()
	since, probe := time.Now(), filepath.Join(t.TempDir(), "probe")
	program.Eventually(t, "the kernel's clock ticks", func() bool {
		if err := os.WriteFile(probe, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(probe)
		return err == nil && info.ModTime().After(since)
	})
}

// TestFollowAgain: what stood in the log when a follower began, behind a position that a
// process before it had saved, that one may have read, too: also in a file that was rotated
// or emptied since, and but for a line without an end. What comes later is new. Within one
// process, nothing is read twice.
func TestFollowAgain(t *testing.T) {
	for name, restored := range map[string]bool{"of a process before": true, "of the same": false} {
		for how, move := range map[string]func(l *log){
			"":        func(*log) {},
			"rotated": func(l *log) { os.Rename(l.path, l.path+".1"); l.open(); l.lines(10) },
			"emptied": func(l *log) {
				text, _ := os.ReadFile(l.path)
				os.WriteFile(l.path+".1", text, 0o600)
				os.Truncate(l.path, 0)
				l.lines(10)
			},
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				l := newLog(t)
				l.lines(20)
				before := follow(t, &heard{}, FollowConfig{Live: Live{Format: format("combined")}, File: l.path, Beginning: true})
				before.all(t, 20)
				before.stop()
				from := before.Position()
				l.lines(4000) // more than one block
				move(l)
				stood := l.n
				last := numbered(l.n)
				l.text(last[:30]) // nobody can have read it
				h := &againHeard{lines: map[int]bool{}}
				for n := range 20 {
					h.lines[n] = true
				}
				c := FollowConfig{File: l.path, From: from, Restored: restored}
				c.Live = Live{Format: format("combined"), Now: time.Now, Decide: h.decide}
				f, err := NewFollower(c)
				if err != nil {
					t.Fatal(err)
				}
				run(t, f, &heard{})
				want := stood
				if !restored {
					want = 20
				}
				if first := h.first(t, stood); first != want {
					t.Errorf("line %d is the first new one, of %d", first, stood)
				}
				l.text(last[30:])
				l.n++
				l.lines(30)
				tick(t)
				os.Rename(l.path, l.path+".2")
				l.open()
				l.lines(5)
				if first := h.first(t, l.n); first != want {
					t.Errorf("line %d is the first new one, with those that came", first)
				}
			})
		}
	}
}
