package accesslog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"edgeguard/internal/program"
	"edgeguard/logline"
)

func TestFollowBegins(t *testing.T) {
	l := newLog(t)
	l.lines(3)
	f := follow(t, &heard{}, FollowConfig{Live: Live{Format: format("combined")}, File: l.path})
	program.Eventually(t, "the end is found", func() bool { return len(f.Position().Files) == 1 })
	l.lines(2)
	program.Eventually(t, "two lines", func() bool { once, _ := f.heard.of(l.n); return once == 2 })
	if f.heard.times[3] != 1 || f.heard.times[4] != 1 {
		t.Errorf("heard %v, want the two that came after", f.heard.times)
	}
	follow(t, &heard{}, FollowConfig{File: l.path, Beginning: true}).all(t, 5) // and the format is found
}

func TestFollowWaitsForTheFile(t *testing.T) {
	l := &log{t: t, path: filepath.Join(t.TempDir(), "sub", "access.log")}
	var told []string
	var mu sync.Mutex // guards told
	f := follow(t, &heard{}, FollowConfig{Live: Live{Trouble: func(at string, err error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprint(at, ": ", err))
	}}, File: l.path})
	program.Eventually(t, "it is said", func() bool { return f.Stats().Err != nil })
	if err := os.Mkdir(filepath.Dir(l.path), 0o700); err != nil {
		t.Fatal(err)
	}
	l.open()
	defer l.file.Close()
	l.lines(10)
	f.all(t, 10)
	program.Eventually(t, "all is well", func() bool { return f.Stats().Err == nil })
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"file: the log " + l.path + " does not exist; waiting for it", "file: <nil>"}; fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestFollowWholeLinesOnly(t *testing.T) {
	l := newLog(t)
	f := follow(t, &heard{}, FollowConfig{File: l.path, Beginning: true})
	l.lines(1)
	f.all(t, 1)
	line := numbered(1)
	l.text(line[:5]) // "192.0" begins many an address
	l.text(line[5:40])
	program.Eventually(t, "it is seen", func() bool { return f.Stats().Behind == 40 })
	if s := f.Stats(); s.Lines != 1 || s.Skipped != 0 {
		t.Errorf("a line without its newline was used: %+v", s)
	}
	l.text(line[40:])
	l.n = 2
	f.all(t, 2)
}

func TestFollowOddBytes(t *testing.T) {
	l := newLog(t)
	f := follow(t, &heard{}, FollowConfig{Live: Live{Format: format("combined")}, File: l.path, Beginning: true})
	l.lines(1)
	l.text(strings.Repeat("\x00", 300<<10))
	l.lines(1)
	l.text(strings.Repeat("x", 3*blockSize) + "\n")
	l.lines(1)
	l.text("\n\r\n" + strings.Repeat("y", logline.MaxLine+10) + "\n")
	l.lines(1)
	f.all(t, 4)
	if s := f.Stats(); s.Skipped != 2 || s.Events != 4 || s.Truncations != 0 || cap(f.buf) > 2*blockSize {
		t.Errorf("%+v, %d bytes of room", s, cap(f.buf))
	}
}

func TestFollowUnreadable(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "access.log")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	f := follow(t, &heard{}, FollowConfig{File: path})
	program.Eventually(t, "it is said", func() bool {
		err := f.Stats().Err
		return err != nil && strings.Contains(err.Error(), "is not a regular file")
	})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	l := &log{t: t, path: path}
	l.open()
	defer l.file.Close()
	program.Eventually(t, "all is well", func() bool { return f.Stats().Err == nil })
	l.lines(3)
	f.all(t, 3)
}

func TestFollowWrongFormat(t *testing.T) {
	l := newLog(t)
	f := follow(t, &heard{}, FollowConfig{Live: Live{Format: format("json")}, File: l.path, Beginning: true})
	l.lines(misfit)
	program.Eventually(t, "it is said", func() bool {
		err := f.Stats().Err
		return err != nil && strings.Contains(err.Error(), "none of the last 20 lines matches the format json, such as")
	})
	l.text(`{"ts":1711741827,"remote_addr":"192.0.2.1","uri":"/20"}` + "\n")
	program.Eventually(t, "all is well", func() bool { return f.Stats().Err == nil })
}
