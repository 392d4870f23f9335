// Package atomicfile replaces a file as a whole: a reader sees the old one or the new
// one, never a part, also after a crash of the machine.
//
//	Create ─ Write… ─ Commit: sync, rename, sync the folder
//
// The new file is made beside the old one, under a hidden name that an include of
// *.conf does not catch and that nothing else has. So no link is followed, and of
// two processes neither writes into, or renames, the other's half.
package atomicfile

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"

	"edgeguard/internal/safepath"
)

// Stage is a moment at which a crash may come.
type Stage string

// The stages of a write, in their order. BeforeWrite comes with each Write.
const (
	BeforeWrite      Stage = "write"
	BeforeSync       Stage = "sync"
	BeforeRename     Stage = "rename"
	BeforeSyncFolder Stage = "sync folder"
)

// Options say what the new file is like.
type Options struct {
	// Mode is that of the new file.
	Mode fs.FileMode
	// Inherit gives it the mode of the file that it replaces, if there is one, and
	// that one's owner, access list, label and attributes as far as this process may.
	Inherit bool
	// Before is called before each stage, and its error ends the write there. Nil
	// disables it. Tests fail there, or kill the process.
	Before func(Stage) error
}

// Draft is a file that is being written. It is not safe for concurrent use.
type Draft struct {
	file    *os.File // nil when closed
	place   *safepath.Place
	temp    string // its name in the place until Commit
	options Options
}

// Create begins a file that Commit will put at the place, and removes what killed
// writers left beside it. Until Commit only this user can read it. The place must
// stay open until Commit or Discard has returned.
func Create(place *safepath.Place, o Options) (*Draft, error) {
	removeLeft(place)
	temp := fmt.Sprintf(".%s.%016x.tmp", place.Name, rand.Uint64())
	f, err := place.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &Draft{file: f, place: place, temp: temp, options: o}, nil
}

// removeLeft removes what writers that were killed left behind. A link of such a
// name is removed too, and never followed.
func removeLeft(place *safepath.Place) {
	entries, err := fs.ReadDir(place.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if isLeft(e.Name(), place.Name) && (e.Type().IsRegular() || e.Type() == fs.ModeSymlink) {
			_ = place.Remove(e.Name())
		}
	}
}

// isLeft reports whether a file's name is one that Create chooses for the file
// named of: .NAME.16 hex digits.tmp.
func isLeft(name, of string) bool {
	middle, begins := strings.CutPrefix(name, "."+of+".")
	digits, ends := strings.CutSuffix(middle, ".tmp")
	number, err := hex.DecodeString(digits)
	return begins && ends && err == nil && len(number) == 8
}

// Replace puts content in the place of the file at a path, as Create and Commit do. It
// refuses a path that others may change, as safepath does.
func Replace(path string, content []byte, o Options) error {
	place, err := safepath.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = place.Close() }() // it was only used to find the file
	f, err := Create(place, o)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(content); err != nil {
		return err
	}
	_, err = f.Commit()
	return err
}

func (f *Draft) reach(s Stage) error {
	if f.options.Before == nil {
		return nil
	}
	return f.options.Before(s)
}

// Write appends to the file.
func (f *Draft) Write(b []byte) (int, error) {
	if err := f.reach(BeforeWrite); err != nil {
		return 0, err
	}
	return f.file.Write(b) // of a nil file: os.ErrInvalid
}

// Commit puts the file in its place, and returns what it is like when it is safe
// on the disk. It syncs before it renames, so that the name never means a file
// that is not on the disk, and syncs the folder after. After an error the old file
// is in its place, unless it was the folder that could not be synced.
func (f *Draft) Commit() (fs.FileInfo, error) {
	defer f.Discard()
	info, err := f.finish()
	if err != nil {
		return nil, err
	}
	if err := f.reach(BeforeRename); err != nil {
		return nil, err
	}
	if err := f.place.Rename(f.temp, f.place.Name); err != nil {
		return nil, err
	}
	if err := f.reach(BeforeSyncFolder); err != nil {
		return nil, err
	}
	return info, f.place.Sync()
}

// finish gives the file its mode and owner, and brings it to the disk.
func (f *Draft) finish() (fs.FileInfo, error) {
	if f.file == nil {
		return nil, os.ErrClosed
	}
	mode := f.options.Mode
	if f.options.Inherit {
		if old, err := f.place.Lstat(f.place.Name); err == nil {
			mode = old.Mode().Perm()
			keepOwner(f.file, old)
		}
	}
	if err := f.file.Chmod(mode); err != nil {
		return nil, err
	}
	if f.options.Inherit {
		keepAttributes(f.file, f.place)
	}
	if err := f.reach(BeforeSync); err != nil {
		return nil, err
	}
	if err := f.file.Sync(); err != nil {
		return nil, err
	}
	info, err := f.file.Stat()
	if closed := f.file.Close(); err == nil {
		err = closed
	}
	return info, err
}

// Discard closes the file, and removes it unless Commit has renamed it. A second
// call does nothing.
func (f *Draft) Discard() {
	if f.file == nil {
		return
	}
	_ = f.file.Close()
	_ = f.place.Remove(f.temp) // after the rename nothing has that name
	f.file = nil
}
