package feed

import (
	"fmt"
	"os"
	"time"

	"edgeguard/internal/smallfile"
)

// File is a list in a file.
type File struct {
	Path string
	seen stamp
}

// stamp is what tells a file from its next version.
type stamp struct {
	size     int64
	modified time.Time
}

// Read returns the list, or reports that it is the one that was read last. The error of
// a file that changes while it is read goes away: it is read again.
func (f *File) Read() (Answer, error) {
	before, err := f.look()
	if err != nil {
		return Answer{}, err
	}
	if before == f.seen {
		return Answer{Same: true}, nil
	}
	data, err := smallfile.Read(f.Path, MaxBytes)
	if err != nil {
		return Answer{}, err
	}
	after, err := f.look()
	if err != nil {
		return Answer{}, err
	}
	if before != after || int64(len(data)) != after.size {
		return Answer{}, fmt.Errorf("%s changed while it was read: write it beside its place, and rename it", f.Path)
	}
	f.seen = after
	return Answer{Data: data}, nil
}

// Forget has the file read again even if it is the same.
func (f *File) Forget() { f.seen = stamp{} }

func (f *File) look() (stamp, error) {
	info, err := os.Stat(f.Path)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.Size(), info.ModTime()}, nil
}
