package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"edgeguard/internal/atomicfile"
)

// TestFaults lets each stage fail: the old file stands, whole, and nothing is
// left beside it.
func TestFaults(t *testing.T) {
	for _, at := range []atomicfile.Stage{atomicfile.BeforeWrite, atomicfile.BeforeSync, atomicfile.BeforeRename, atomicfile.BeforeSyncFolder} {
		t.Run(string(at), func(t *testing.T) {
			want := small()
			path := want.save(t)
			next := small()
			next.cut.Node = "another"
			w, err := create(path, next.cut, func(s atomicfile.Stage) error {
				if s == at {
					return syscall.ENOSPC
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			next.write(w)
			if err := w.Commit(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
				t.Errorf("Commit gave %v", err)
			}
			if err := w.Commit(); err == nil {
				t.Error("a second Commit succeeds")
			}
			if at == atomicfile.BeforeSyncFolder {
				want = next // renamed, but perhaps not for ever
			}
			stands(t, path, want)
		})
	}
}

func TestClose(t *testing.T) {
	path := small().save(t)
	w, err := Create(path, small().cut)
	if err != nil {
		t.Fatal(err)
	}
	small().write(w)
	w.Close()
	w.Close()
	stands(t, path, small())
	if err := w.Commit(); err == nil {
		t.Error("Commit after Close succeeds")
	}
	stands(t, path, small())
}

// TestNowhere: a folder that is not there or is no folder is a clear error.
func TestNowhere(t *testing.T) {
	file := small().save(t)
	for _, path := range []string{filepath.Join(t.TempDir(), "no", "state"), filepath.Join(file, "state")} {
		if _, err := Create(path, Cut{}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	folder := t.TempDir()
	w, err := Create(folder, Cut{})
	if err == nil {
		err = w.Commit()
	}
	if err == nil {
		t.Error("a folder was replaced")
	}
}

// TestTwoWriters: of two at one path none makes a torn file.
func TestTwoWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	first, err := Create(path, small().cut)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Create(path, small().cut)
	if err != nil {
		t.Fatal(err)
	}
	small().write(second)
	small().write(first)
	if err := first.Commit(); err == nil {
		t.Error("the first one, whose file was taken for a leftover, succeeds")
	}
	if err := second.Commit(); err != nil {
		t.Error(err)
	}
	stands(t, path, small())
}

// TestMode: the file names addresses, and so is its owner's alone.
func TestMode(t *testing.T) {
	info, err := os.Stat(small().save(t))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
