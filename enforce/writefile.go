package enforce

import (
	"bufio"
	"errors"
	"os"

	"edgeguard/internal/safepath"
)

// newFileMode is the mode of a file that was not there.
const newFileMode = 0o644

// writeFile replaces the file at a place by what render writes, so that a reader
// sees the old one or the new one and never a part, also after a crash. The
// new one keeps the mode and, as far as this process may, the owner of the old.
//
// The temporary file has one fixed, hidden name: an include of *.conf does not
// catch it, and what a crash left is taken over by the next write. Whoever may
// write into the folder could put a link there, so it is removed and made
// again, never opened.
func writeFile(place *safepath.Place, render func(w *bufio.Writer)) (_ os.FileInfo, err error) {
	temp := "." + place.Name + ".tmp"
	if err := place.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	f, err := place.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = place.Remove(temp)
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	render(w)
	info, err := finish(f, w, place)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	if err := place.Rename(temp, place.Name); err != nil {
		return nil, err
	}
	return info, place.Sync()
}

// finish brings all of w to the disk, with the mode and owner of what is there.
func finish(f *os.File, w *bufio.Writer, place *safepath.Place) (os.FileInfo, error) {
	if err := w.Flush(); err != nil {
		return nil, err
	}
	mode := os.FileMode(newFileMode)
	if old, err := place.Lstat(place.Name); err == nil {
		mode = old.Mode().Perm()
		keepOwner(f, old)
	}
	if err := f.Chmod(mode); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	return f.Stat()
}
