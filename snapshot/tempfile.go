package snapshot

import (
	"os"
	"path/filepath"
	"strings"
)

// stage is a moment at which a crash may come.
type stage string

const (
	beforeWrite   stage = "write"
	beforeSync    stage = "sync"
	beforeRename  stage = "rename"
	beforeSyncDir stage = "sync folder"
)

// tempFile is a file that becomes the one at path when it is whole.
type tempFile struct {
	*os.File // nil when it is closed
	path     string
	// before is nil but in tests, which fail there or kill the process.
	before func(stage) error
}

// createTemp makes the file in the folder of path, for its owner alone: it
// names addresses. Its name is new, so that of two processes none ever writes
// into, or renames, the other's half.
func createTemp(path string, before func(stage) error) (*tempFile, error) {
	dir, base := filepath.Split(path)
	dir = filepath.Join(dir, ".")
	removeLeft(dir, "."+base+".", ".tmp")
	f, err := os.CreateTemp(dir, "."+base+".*.tmp")
	if err != nil {
		return nil, err
	}
	return &tempFile{f, path, before}, nil
}

// removeLeft removes what writers that were killed left behind.
func removeLeft(dir, prefix, suffix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), suffix) && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

func (f *tempFile) reach(s stage) error {
	if f.before == nil {
		return nil
	}
	return f.before(s)
}

func (f *tempFile) write(b []byte) error {
	if err := f.reach(beforeWrite); err != nil {
		return err
	}
	_, err := f.Write(b)
	return err
}

// commit syncs before it renames, so that the name never stands for a file
// that is not on the disk, and the folder after, so that the rename is.
func (f *tempFile) commit() error {
	if err := f.reach(beforeSync); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.reach(beforeRename); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		return err
	}
	if err := f.reach(beforeSyncDir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.path))
}

// discard closes the file and removes it, if it was not renamed: then nothing
// has its name.
func (f *tempFile) discard() {
	if f.File == nil {
		return
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	f.File = nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
