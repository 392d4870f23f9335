//go:build unix

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"edgeguard/internal/safepath"
)

// open opens the place of a file for the test's length.
func open(t *testing.T, path string) *safepath.Place {
	t.Helper()
	place, err := safepath.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = place.Close() })
	return place
}

// write writes a text to a path.
func write(t *testing.T, path, text string, o Options) (fs.FileInfo, error) {
	t.Helper()
	f, err := Create(open(t, path), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		f.Discard()
		return nil, err
	}
	return f.Commit()
}

func names(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: %q, %v, want %q", path, got, err, want)
	}
}

func TestModeAndOwner(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "f")
	if info, err := write(t, path, "one", Options{Mode: 0o644, Inherit: true}); err != nil || info.Mode() != 0o644 {
		t.Fatalf("%v, %v", info, err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(path, 65534, 65533); err != nil {
			t.Fatal(err)
		}
	}
	info, err := write(t, path, "two", Options{Mode: 0o644, Inherit: true})
	if err != nil || info.Mode() != 0o640 {
		t.Fatalf("%v, %v", info, err)
	}
	if s := info.Sys().(*syscall.Stat_t); os.Getuid() == 0 && (s.Uid != 65534 || s.Gid != 65533) {
		t.Errorf("owner %d:%d", s.Uid, s.Gid)
	}
	now, err := os.Stat(path)
	if err != nil || !os.SameFile(now, info) || now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime()) {
		t.Errorf("Commit returned %v, there is %v, %v", info, now, err)
	}
	if info, err := write(t, path, "three", Options{Mode: 0o600}); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if os.Getuid() == 0 {
		if now, _ := os.Stat(path); now.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Error("the owner was inherited")
		}
	}
	holds(t, path, "three")
	if got := names(t, folder); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

// TestPrivateUntilWhole: until Commit only the owner can read the file.
func TestPrivateUntilWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := Create(open(t, path), Options{Mode: 0o644, Inherit: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	if info, err := f.file.Stat(); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestLeft: what killed writers left is removed, what a stranger put there is not
// followed, and other files stay.
func TestLeft(t *testing.T) {
	folder := t.TempDir()
	victim := filepath.Join(folder, "victim")
	for _, name := range []string{"victim", ".f.0123456789abcdef.tmp", ".f.tmp", ".f.x.0123456789abcdef.tmp", ".f.mine.tmp", ".g.tmp", "f.tmp"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(victim, filepath.Join(folder, ".f.fedcba9876543210.tmp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, ".f.0000000000000000.tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := write(t, filepath.Join(folder, "f"), "text", Options{Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	holds(t, victim, "precious")
	want := []string{".f.0000000000000000.tmp", ".f.mine.tmp", ".f.tmp", ".f.x.0123456789abcdef.tmp", ".g.tmp", "f", "f.tmp", "victim"}
	if got := names(t, folder); len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestFaults lets each stage fail: the old file is in its place, and nothing is
// left beside it. Only when the folder could not be synced is it the new one.
func TestFaults(t *testing.T) {
	for _, at := range []Stage{BeforeWrite, BeforeSync, BeforeRename, BeforeSyncFolder} {
		folder := t.TempDir()
		path := filepath.Join(folder, "f")
		if _, err := write(t, path, "old", Options{Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		_, err := write(t, path, "new", Options{Mode: 0o600, Before: func(s Stage) error {
			if s == at {
				return syscall.ENOSPC
			}
			return nil
		}})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", at, err)
		}
		want := "old"
		if at == BeforeSyncFolder {
			want = "new"
		}
		holds(t, path, want)
		if got := names(t, folder); len(got) != 1 {
			t.Errorf("%s: left behind: %v", at, got)
		}
	}
}

func TestDiscard(t *testing.T) {
	folder := t.TempDir()
	f, err := Create(open(t, filepath.Join(folder, "f")), Options{Mode: 0o600})
	if err != nil {
		t.Fatal(err)
	}
	f.Discard()
	f.Discard()
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("Write after Discard succeeds")
	}
	if _, err := f.Commit(); err == nil {
		t.Error("Commit after Discard succeeds")
	}
	if got := names(t, folder); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestReplace(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "kept")
	for _, text := range []string{"first", "second"} {
		if err := Replace(path, []byte(text), Options{Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		holds(t, path, text)
	}
	full := func(s Stage) error {
		if s == BeforeSync {
			return syscall.ENOSPC
		}
		return nil
	}
	if err := Replace(path, []byte("third"), Options{Mode: 0o600, Before: full}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
	holds(t, path, "second")
	if left := names(t, folder); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
}
