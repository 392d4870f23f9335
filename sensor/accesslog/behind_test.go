package accesslog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard"
)

// stepped is a follower that runs only when it is told to.
func stepped(t *testing.T, h *heard, c FollowConfig) *following {
	t.Helper()
	c.Now, c.Poll = time.Now, time.Nanosecond
	if c.Decide == nil {
		c.Decide = h.decide
	}
	f, err := NewFollower(c)
	if err != nil {
		t.Fatal(err)
	}
	f.begin()
	t.Cleanup(f.end)
	if len(f.tails) > maxTails+1 {
		t.Fatalf("%d files are open at the start", len(f.tails))
	}
	return &following{Follower: f, heard: h}
}

// steps returns the follower n turns, in which it never has too many files open.
func (f *following) steps(t *testing.T, n int) {
	t.Helper()
	for range n {
		f.drain(t.Context())
		f.look()
		if len(f.tails) > maxTails+1 {
			t.Fatalf("%d files are open", len(f.tails))
		}
	}
}

// exactly holds that the lines below n were heard once.
func (f *following) exactly(t *testing.T, n int) {
	t.Helper()
	if once, twice := f.heard.of(n); once != n || twice > 0 {
		t.Fatalf("%d of %d lines once, %d twice; %+v", once, n, twice, f.Stats())
	}
}

// rotations makes n rotated files of ten lines each, written 10 s apart.
func (l *log) rotations(n int, from time.Time) {
	l.t.Helper()
	for i := range n {
		l.lines(10)
		l.rename(dated(i))
		written := from.Add(time.Duration(i) * 10 * time.Second)
		if err := os.Chtimes(filepath.Join(filepath.Dir(l.path), dated(i)), written, written); err != nil {
			l.t.Fatal(err)
		}
		l.open()
	}
}

func dated(i int) string { return fmt.Sprintf("access.log-%d", 20260000+i) }

// TestFollowFromTheMake: what is rotated away after the follower was made and
// before it runs is read.
func TestFollowFromTheMake(t *testing.T) {
	l := newLog(t)
	h := &heard{}
	f, err := NewFollower(FollowConfig{Live: Live{Now: time.Now, Decide: h.decide}, File: l.path, Beginning: true})
	if err != nil {
		t.Fatal(err)
	}
	f.since = f.since.Add(-time.Hour) // it takes its time
	l.rotations(5, f.since.Add(time.Minute))
	run(t, f, h).all(t, l.n)
}

// TestFollowFarBehind has more rotated files between two looks than may be open,
// with a restart among them: all are read, once, in order.
func TestFollowFarBehind(t *testing.T) {
	const files = 5 * maxTails
	for _, restart := range []int{-1, 0, 1, 3, 4} {
		t.Run(fmt.Sprint("restart after ", restart), func(t *testing.T) {
			l, h := newLog(t), &heard{}
			l.lines(1)
			f := stepped(t, h, FollowConfig{File: l.path, Beginning: true})
			f.steps(t, 2)
			at := f.Position()
			at.Seen = time.Now().Add(-2 * time.Hour)
			l.rotations(files, at.Seen.Add(time.Second))
			f = stepped(t, h, FollowConfig{File: l.path, From: at})
			if restart >= 0 {
				f.steps(t, restart)
				at = f.Position()
				f = stepped(t, h, FollowConfig{File: l.path, From: at})
			}
			f.steps(t, 3*files)
			f.exactly(t, l.n)
			if s := f.Stats(); s.Lost != 0 || s.Gaps != 0 || s.Behind != 0 {
				t.Errorf("%+v", s)
			}
			l.lines(1)
			f.steps(t, 2)
			f.exactly(t, l.n)
		})
	}
}

// TestFollowGoneBeforeItsTurn: a file that waited and was deleted or compressed
// meanwhile is counted, and no other is lost.
func TestFollowGoneBeforeItsTurn(t *testing.T) {
	const files = 3 * maxTails
	l, h := newLog(t), &heard{}
	l.lines(1)
	f := stepped(t, h, FollowConfig{File: l.path, Beginning: true})
	f.steps(t, 2)
	l.rotations(files, time.Now())
	f.steps(t, 1)
	for _, i := range []int{files - 1, files - 7} {
		if err := os.Remove(filepath.Join(filepath.Dir(l.path), dated(i))); err != nil {
			t.Fatal(err)
		}
	}
	f.steps(t, 3*files)
	if once, twice := h.of(l.n); once != l.n-20 || twice > 0 || f.Stats().Gaps != 2 {
		t.Errorf("%d of %d lines once, %d twice; %+v", once, l.n, twice, f.Stats())
	}
}

// TestFollowWrittenBeforeItIsClosed: the oldest file gets a line after it was
// read and before it is closed for want of room.
func TestFollowWrittenBeforeItIsClosed(t *testing.T) {
	l, h := newLog(t), &heard{}
	f := stepped(t, h, FollowConfig{File: l.path, Beginning: true})
	first := l.file
	for i := range maxTails {
		l.lines(10)
		f.steps(t, 1)
		l.rename(dated(i))
		if i > 0 {
			l.file.Close()
		}
		l.file = nil
		l.open()
		f.steps(t, 1)
	}
	f.drain(t.Context())
	if len(f.tails) != maxTails+1 {
		t.Fatalf("%d files are open", len(f.tails))
	}
	current := l.file
	l.file = first
	l.lines(1)
	l.file = current
	f.look()
	first.Close()
	f.steps(t, 30)
	f.exactly(t, l.n)
}

// TestFollowInOrder: files that wait are read in the order in which they were
// written.
func TestFollowInOrder(t *testing.T) {
	l, h := newLog(t), &heard{}
	l.lines(1)
	var order []int
	note := func(now time.Time, events []edgeguard.Event) {
		h.decide(now, events)
		for i := range events {
			n, _ := strconv.Atoi(strings.TrimPrefix(events[i].Path, "/"))
			order = append(order, n)
		}
	}
	f := stepped(t, h, FollowConfig{Live: Live{Decide: note}, File: l.path, Beginning: true})
	f.steps(t, 2)
	l.rotations(3*maxTails, time.Now())
	l.lines(10)
	f.steps(t, 9*maxTails)
	if f.exactly(t, l.n); !slices.IsSorted(order) {
		t.Errorf("read in the order %d", order)
	}
}
