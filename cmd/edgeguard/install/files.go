package install

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"edgeguard/internal/atomicfile"
	"edgeguard/internal/filelock"
	"edgeguard/internal/safepath"
)

// change is one of a file: a nil text is a file that is not there.
type change struct {
	path          string
	before, after []byte
}

// files changes files so that all of them can be put back, also by a later run after this one was
// killed: the originals are kept in a folder, with a list of what is being changed.
type files struct {
	folder string
	before func(path string) // before each change, for tests
	done   []change
	lock   *filelock.Lock // others change nothing meanwhile
}

// hold keeps other runs out until release.
func (f *files) hold() (err error) {
	if f.lock != nil {
		return nil
	}
	if err = os.MkdirAll(f.folder, 0o700); err == nil { // who can open the lock can keep it
		f.lock, err = filelock.Take(filepath.Join(f.folder, "lock"), true)
	}
	return err
}

func (f *files) release() { f.lock.Release() }

// unfinished is the list's name. It is there while files are being changed.
const unfinished = "unfinished.json"

// entry is a change as the list has it.
type entry struct {
	Path  string `json:"path"`
	There bool   `json:"there"` // before
	After string `json:"after"` // a digest
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// kept is where the original of a file is kept.
func (f *files) kept(path string) string { return filepath.Join(f.folder, path) }

// write changes files, one after the other.
func (f *files) write(changes []change) error {
	if err := f.hold(); err != nil {
		return err
	}
	for _, c := range changes {
		if now, err := read(c.path); err != nil || !same(now, c.before) {
			return cmp.Or(err, fmt.Errorf("%s was changed since it was read: run the command again", c.path))
		}
	}
	f.done = append(f.done, changes...)
	var list []entry
	for _, c := range f.done {
		list = append(list, entry{c.path, c.before != nil, digest(c.after)})
	}
	for _, c := range changes {
		if c.before == nil {
			continue
		}
		if err := put(f.kept(c.path), c.before, 0o600); err != nil {
			return err
		}
	}
	text, err := json.Marshal(list)
	if err == nil {
		err = put(filepath.Join(f.folder, unfinished), text, 0o600)
	}
	if err != nil {
		return err
	}
	for _, c := range changes {
		if f.before != nil {
			f.before(c.path)
		}
		if err := c.write(); err != nil {
			return err
		}
	}
	return nil
}

// same reports whether two texts of a file are equal: one that is not there is not one that is empty.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// write brings a file to what it is to be.
func (c *change) write() error {
	if c.after != nil {
		return put(c.path, c.after, 0o644)
	}
	if err := os.Remove(c.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// put writes a file as a whole, in a folder that is made where it is not there.
func put(path string, text []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Replace(path, text, atomicfile.Options{Mode: mode, Inherit: true})
}

// finish keeps the changes.
func (f *files) finish() error {
	f.done = nil
	if err := os.Remove(filepath.Join(f.folder, unfinished)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// back puts the files back as they were, the last first. It ends where that fails, as on a full disk: no file
// goes that one names which stays, and the next run goes on.
func (f *files) back() error {
	for _, c := range slices.Backward(f.done) {
		now, err := read(c.path)
		switch old := (change{path: c.path, after: c.before}); {
		case err == nil && same(now, c.before): // it was not reached
		case err == nil && !same(now, c.after):
			err = fmt.Errorf("%s was changed meanwhile", c.path)
		default:
			err = old.write()
		}
		if err != nil {
			return fmt.Errorf("%w\nNot every file is as it was, the originals are in %s: mend that, and run the command again, which first puts them back", err, f.folder)
		}
	}
	return f.finish()
}

// resume takes up what a run that was killed had begun. It reports whether there is something.
func (f *files) resume() (bool, error) {
	var list []entry
	place := filepath.Join(f.folder, unfinished)
	if _, err := os.Lstat(place); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := f.hold(); err != nil {
		return false, err
	}
	// Who ran until now may have finished. Another user's list, or originals, could have root write any file.
	text, err := safepath.ReadOwn(place, mostFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return false, fmt.Errorf("%s: %w: look at the originals beside it, and remove it", place, err)
	}
	for _, e := range list {
		c := change{path: e.Path}
		if c.after, err = read(e.Path); err == nil && e.There {
			c.before, err = safepath.ReadOwn(f.kept(e.Path), mostFile)
		}
		if err != nil {
			return false, err
		}
		if digest(c.after) != e.After && !same(c.after, c.before) {
			return false, fmt.Errorf("%s was changed since an interrupted run: compare it with its original, %s, and then remove %s", e.Path, f.kept(e.Path), place)
		}
		f.done = append(f.done, c)
	}
	return true, nil
}

// mostFile bounds what is read of a file.
const mostFile = 4 << 20

// read returns what a file has, nil if it is not there.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > mostFile:
		return nil, fmt.Errorf("%s is not a file of at most %d bytes", path, mostFile)
	}
	text, err := os.ReadFile(path)
	if text == nil && err == nil {
		text = []byte{}
	}
	return text, err
}

// withRoot says the fix where a right is missing.
func withRoot(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: run it as root", err)
	}
	return err
}
