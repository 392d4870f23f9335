package accesslog

import (
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/program"
	"edgeguard/logline"
)

// bytes returns how many bytes the lines below n have that were heard.
func (h *heard) bytes(n int) (sum int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range n {
		sum += h.times[i] * len(numbered(i))
	}
	return sum
}

// written returns how many bytes the lines below n have.
func written(n int) (sum int) {
	for i := range n {
		sum += len(numbered(i))
	}
	return sum
}

// TestFollowCountsWhatIsLost empties a log that is behind: each byte that had
// been seen in it was decided once, is in the copy, or is counted as lost.
func TestFollowCountsWhatIsLost(t *testing.T) {
	for _, test := range []struct {
		name    string
		copied  bool
		after   int // lines between copy and emptying
		nothing bool
	}{
		{"no copy", false, 0, false},
		{"a copy", true, 0, true},
		{"a copy, and more after it", true, 5000, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLog(t)
			l.lines(20_000) // several blocks
			if test.copied {
				tool(t, "cp", l.path, l.path+".1")
			}
			if test.after > 0 {
				l.lines(test.after)
			}
			h := &heard{}
			var once sync.Once
			f, err := NewFollower(FollowConfig{File: l.path, Beginning: true, Poll: 2 * time.Millisecond, Live: Live{
				Now: time.Now,
				Decide: func(now time.Time, events []edgeguard.Event) {
					h.decide(now, events)
					once.Do(func() { tool(t, "truncate", "--size=0", l.path) })
				},
			}})
			if err != nil {
				t.Fatal(err)
			}
			running := run(t, f, h)
			program.Eventually(t, "the emptying is seen", func() bool { return f.Stats().Truncations == 1 })
			l.lines(1)
			program.Eventually(t, "the last line", func() bool { h.mu.Lock(); defer h.mu.Unlock(); return h.times[l.n-1] == 1 })
			running.stop()
			s := f.Stats()
			if total, known := written(l.n), h.bytes(l.n)+int(s.Lost); known != total {
				t.Errorf("%d bytes decided and %d lost, of %d: %+v", h.bytes(l.n), s.Lost, total, s)
			}
			if (s.Lost == 0) != test.nothing {
				t.Errorf("%d bytes lost", s.Lost)
			}
		})
	}
}

// TestFollowCopyTruncateIsCounted rotates with cp and truncate, as logrotate's
// copytruncate does, under a writer that does not wait and does not append: the
// hole that it leaves tells how much was lost, and with that every byte is
// accounted for.
func TestFollowCopyTruncateIsCounted(t *testing.T) {
	l := newLog(t)
	l.file.Close()
	file, err := os.OpenFile(l.path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.file = file
	f := follow(t, &heard{}, FollowConfig{File: l.path, Beginning: true, Linger: time.Millisecond})
	l.lines(20)
	program.Eventually(t, "the first line", func() bool { f.heard.mu.Lock(); defer f.heard.mu.Unlock(); return f.heard.times[0] > 0 })
	stop, done := make(chan struct{}), make(chan struct{})
	var newest atomic.Int64
	go func() {
		defer close(done)
		for {
			l.lines(20)
			newest.Store(int64(l.n))
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Microsecond): // the pace of the load, not a wait
			}
			// Faster than the follower on a busy machine, what it is behind would double with each rotation.
			for f.Stats().Behind > 4<<20 {
				time.Sleep(time.Millisecond)
			}
		}
	}()
	rotations := uint64(30)
	if testing.Short() {
		rotations = 10
	}
	for i := range rotations {
		_ = os.Rename(l.path+".1", l.path+".2")
		tool(t, "cp", l.path, l.path+".1")
		time.Sleep(time.Millisecond) // for something to be lost: the larger the log, the slower the rotation
		tool(t, "truncate", "--size=0", l.path)
		program.Eventually(t, "the emptying is seen", func() bool { return f.Stats().Truncations > i })
		if n := f.Stats().Truncations; n != i+1 {
			t.Fatalf("%d emptyings were seen of %d: %+v", n, i+1, f.Stats())
		}
		next := int(newest.Load()) + 20 // not written yet: a hole without a line is emptied unseen
		program.Eventually(t, "it goes on", func() bool { f.heard.mu.Lock(); defer f.heard.mu.Unlock(); return f.heard.times[next] > 0 })
	}
	close(stop)
	<-done
	total := written(l.n)
	program.Eventually(t, "every byte is accounted for", func() bool { return f.heard.bytes(l.n)+int(f.Stats().Lost) >= total })
	f.stop()
	once, twice := f.heard.of(l.n)
	s := f.Stats()
	t.Logf("%d of %d lines, %d bytes lost", once, l.n, s.Lost)
	if known := f.heard.bytes(l.n) + int(s.Lost); known != total || twice > 0 {
		t.Errorf("%d bytes accounted for, of %d; %d lines twice; %+v", known, total, twice, s)
	}
	if s.Lost == 0 {
		t.Error("nothing was lost: nothing was tested")
	}
}

// TestFollowHoleAfterHalfALine empties a log of which half a line was seen, under a writer
// that does not append. The hole tells whether the other half stands behind it, or was
// written before the emptying: then a whole line stands there.
func TestFollowHoleAfterHalfALine(t *testing.T) {
	for name, other := range map[string]bool{"the other half is lost": true, "the other half comes": false} {
		t.Run(name, func(t *testing.T) {
			l := newLog(t)
			l.file.Close()
			file, err := os.OpenFile(l.path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			l.file = file
			half := numbered(1)
			l.text(numbered(0) + half[:30])
			l.n = 2
			h := &heard{}
			var once sync.Once
			f, err := NewFollower(FollowConfig{File: l.path, Beginning: true, Live: Live{
				Now: time.Now,
				Decide: func(now time.Time, events []edgeguard.Event) {
					h.decide(now, events)
					once.Do(func() {
						if other {
							l.text(half[30:])
						}
						if err := os.Truncate(l.path, 0); err != nil {
							t.Error(err)
						}
						if !other {
							l.text(half[30:])
						}
						l.lines(2)
					})
				},
			}})
			if err != nil {
				t.Fatal(err)
			}
			run(t, f, h)
			program.Eventually(t, "the last line", func() bool { h.mu.Lock(); defer h.mu.Unlock(); return h.times[3] == 1 })
			want := []int{1, 0, 1, 1}
			for n, times := range want {
				if h.times[n] != times {
					t.Errorf("line %d was heard %d times, want %d", n, h.times[n], times)
				}
			}
			lost := 30 // what was seen, and is no line
			if other {
				lost = len(half)
			}
			if n := f.Stats().Lost; n != uint64(lost) {
				t.Errorf("%d bytes lost, want %d", n, lost)
			}
		})
	}
}

// tool runs a program of coreutils.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("needs %s: apt-get install coreutils", name)
	}
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %v: %v: %s", name, args, err, out)
	}
}

// TestFollowEmptiedIsAnotherText holds that "last message repeated" says nothing of a line that was emptied away before
// it: a daemon may have written others in between.
func TestFollowEmptiedIsAnotherText(t *testing.T) {
	const again = "Nov 27 10:00:20 web-1 last message repeated 5 times\n"
	for _, test := range []struct {
		name    string
		emptied bool
		want    int
	}{{"one text", false, 6}, {"emptied", true, 1}} {
		l := newLog(t)
		h := &heard{}
		format, err := logline.ParseFormat("sshd")
		if err != nil {
			t.Fatal(err)
		}
		f := follow(t, h, FollowConfig{File: l.path, Beginning: true, Live: Live{Format: format}})
		l.text("Nov 27 10:00:20 web-1 sshd[17]: Failed password for root from 198.51.100.1 port 4711 ssh2\n")
		program.Eventually(t, "the line is read", func() bool { return f.Stats().Events == 1 })
		if test.emptied {
			tool(t, "truncate", "--size=0", l.path)
			program.Eventually(t, "the emptying is seen", func() bool { return f.Stats().Truncations == 1 })
		}
		l.text(again)
		program.Eventually(t, "the second line is read", func() bool { return f.Stats().Lines == 2 })
		if got := f.Stats().Events; got != uint64(test.want) {
			t.Errorf("%s: %d events, want %d", test.name, got, test.want)
		}
	}
}
