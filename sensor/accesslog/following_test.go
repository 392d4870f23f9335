package accesslog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard"
)

// heard counts the lines that were decided, by the number in their path.
type heard struct {
	mu      sync.Mutex // guards what follows
	times   map[int]int
	largest int // batch
}

func (h *heard) decide(_ time.Time, events []edgeguard.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.times == nil {
		h.times = map[int]int{}
	}
	h.largest = max(h.largest, len(events))
	for i := range events {
		if events[i].Path == "" {
			continue // HAProxy logs a connection without a request: the probe of the test
		}
		n, err := strconv.Atoi(strings.TrimPrefix(events[i].Path, "/"))
		if err != nil {
			panic(err)
		}
		h.times[n]++
	}
}

// of returns how many of the numbers below n were heard, and how many twice.
func (h *heard) of(n int) (once, twice int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range n {
		switch h.times[i] {
		case 0:
		case 1:
			once++
		default:
			twice++
		}
	}
	return once, twice
}

func numbered(n int) string {
	return fmt.Sprintf("192.0.2.%d - - [20/Feb/2016:00:00:45 +0000] \"GET /%d HTTP/1.1\" 200 12 \"-\" \"a\"\n", n%250, n)
}

// following is a follower that runs.
type following struct {
	*Follower
	heard *heard
	stop  func()
}

// follow runs a follower until stop or the end of the test. Its pace is quick,
// so that nothing here waits for long.
func follow(t *testing.T, h *heard, c FollowConfig) *following {
	t.Helper()
	c.Now = time.Now
	c.Decide = h.decide
	if c.Poll == 0 {
		c.Poll = 2 * time.Millisecond
	}
	f, err := NewFollower(c)
	if err != nil {
		t.Fatal(err)
	}
	return run(t, f, h)
}

// run runs a follower until stop or the end of the test.
func run(t *testing.T, f *Follower, h *heard) *following {
	t.Helper()
	return &following{f, h, runs(t, f)}
}

// runs runs a follower until what it returns is called, or the end of the test.
func runs(t *testing.T, f interface{ Run(context.Context) error }) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// all waits until each of the numbers below n was heard, and holds that none was
// heard twice.
func (f *following) all(t *testing.T, n int) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for {
		once, twice := f.heard.of(n)
		if twice > 0 {
			t.Fatalf("%d of %d lines twice", twice, n)
		}
		if once == n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d lines lost; %+v; %d files open", n-once, n, f.Stats(), len(f.Position().Files))
		}
		time.Sleep(time.Millisecond)
	}
}

// log is a file that is written to as a server does.
type log struct {
	t    *testing.T
	path string
	file *os.File
	n    int
}

func newLog(t *testing.T) *log {
	l := &log{t: t, path: filepath.Join(t.TempDir(), "access.log")}
	l.open()
	t.Cleanup(func() { l.file.Close() })
	return l
}

func (l *log) open() {
	l.t.Helper()
	if l.file != nil {
		l.file.Close()
	}
	var err error
	if l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// lines appends the next n lines, in one write.
func (l *log) lines(n int) {
	l.t.Helper()
	var b strings.Builder
	for range n {
		b.WriteString(numbered(l.n))
		l.n++
	}
	l.text(b.String())
}

func (l *log) text(s string) {
	l.t.Helper()
	if _, err := l.file.WriteString(s); err != nil {
		l.t.Fatal(err)
	}
}

func (l *log) rename(to string) {
	l.t.Helper()
	if err := os.Rename(l.path, filepath.Join(filepath.Dir(l.path), to)); err != nil {
		l.t.Fatal(err)
	}
}

// rotate renames as logrotate does: .1 becomes .2, and so on.
func (l *log) rotate(keep int) {
	l.t.Helper()
	for i := keep; i > 0; i-- {
		os.Rename(fmt.Sprintf("%s.%d", l.path, i), fmt.Sprintf("%s.%d", l.path, i+1))
	}
	l.rename("access.log.1")
}

// copyTruncate rotates in place.
func (l *log) copyTruncate() {
	l.t.Helper()
	os.Rename(l.path+".1", l.path+".2")
	b, err := os.ReadFile(l.path)
	if err == nil {
		err = os.WriteFile(l.path+".1", b, 0o600)
	}
	if err == nil {
		err = os.Truncate(l.path, 0)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}
