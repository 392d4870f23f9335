package snapshot

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"

	"edgeguard/internal/safepath"
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
	place    *safepath.Place
	name     string // in the place, until it is whole
	path     string
	// before is nil but in tests, which fail there or kill the process.
	before func(stage) error
}

// createTemp makes the file in the folder of path, for its owner alone: it
// names addresses. Its name is new, so that of two processes none ever writes
// into, or renames, the other's half.
func createTemp(path string, before func(stage) error) (*tempFile, error) {
	place, err := safepath.Open(path)
	if err != nil {
		return nil, err
	}
	removeLeft(place)
	name := fmt.Sprintf(".%s.%016x.tmp", place.Name, rand.Uint64())
	f, err := place.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		_ = place.Close()
		return nil, err
	}
	return &tempFile{f, place, name, path, before}, nil
}

// removeLeft removes what writers that were killed left behind.
func removeLeft(place *safepath.Place) {
	entries, err := fs.ReadDir(place.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+place.Name+".") && strings.HasSuffix(e.Name(), ".tmp") && e.Type().IsRegular() {
			_ = place.Remove(e.Name())
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
	if err := f.place.Rename(f.name, f.place.Name); err != nil {
		return err
	}
	if err := f.reach(beforeSyncDir); err != nil {
		return err
	}
	return f.place.Sync()
}

// discard closes the file and removes it, if it was not renamed: then nothing
// has its name.
func (f *tempFile) discard() {
	if f.File == nil {
		return
	}
	_ = f.Close()
	_ = f.place.Remove(f.name)
	_ = f.place.Close()
	f.File = nil
}
