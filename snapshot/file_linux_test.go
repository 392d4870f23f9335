package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// unprivileged makes the rest of the test somebody to whom modes apply, and
// the files his. They lie in one folder.
func unprivileged(t *testing.T, files ...string) {
	const nobody = 65534
	if os.Getuid() != 0 {
		return
	}
	// The folder around, made by the testing package, is root's alone.
	if err := os.Chmod(filepath.Dir(filepath.Dir(files[0])), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Chown(f, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	runtime.LockOSThread()
	t.Cleanup(func() { _ = syscall.Setfsuid(0) }) // before the files are removed
	if err := syscall.Setfsuid(nobody); err != nil {
		t.Skip(err)
	}
}

// TestReadOnly: in a folder that cannot be written, saving is a clear error
// and a bad file is still not used; a good one is.
func TestReadOnly(t *testing.T) {
	path := small().save(t)
	bad := filepath.Join(filepath.Dir(path), "bad")
	if err := os.WriteFile(bad, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	unprivileged(t, path, bad, dir)
	if _, err := Create(path, Cut{}); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) {
		t.Errorf("Create gave %v", err)
	}
	if _, err := LoadFile(bad, noon, untouchable(t)); !errors.Is(err, errForeign) || !strings.Contains(err.Error(), "could not be renamed") {
		t.Errorf("Load gave %v", err)
	}
	if l, err := LoadFile(path, noon, Sink{}); err != nil || l.Node != "edge-1" {
		t.Errorf("Load of a good one gave %v, %v", l, err)
	}
}

// TestUnreadable: a file that may not be read is an error that says so, and is out of
// the way: the next snapshot takes its place.
func TestUnreadable(t *testing.T) {
	path := small().save(t)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	unprivileged(t, path, filepath.Dir(path))
	if _, err := LoadFile(path, noon, untouchable(t)); !errors.Is(err, fs.ErrPermission) || !errors.Is(err, errUnreadable) || !strings.Contains(err.Error(), path+".aside-1") {
		t.Errorf("Load gave %v", err)
	}
	if kept, err := os.Stat(path + ".aside-1"); err != nil || !os.SameFile(kept, before) {
		t.Errorf("%v, %v", kept, err)
	}
}

// TestPipe: what a reader would wait for or never come to the end of is not
// opened.
func TestPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "state")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	noFile(t, pipe)
	noFile(t, "/dev/zero")
}
