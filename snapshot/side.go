package snapshot

import (
	"errors"
	"io/fs"
	"time"
)

// SideFile is a file beside a state, of what changes less often. It is a file of its own because
// a state is written each second while blocks are made, but this file only when what it keeps
// has changed. Its fields are set before it is used. It is not safe for concurrent use.
type SideFile[K any] struct {
	Path string // empty: it is not kept
	Kept K
	// Changes returns how often what is kept has changed.
	Changes func() uint64
	// Write writes the records of all that is kept at an instant.
	Write func(w *Writer, taken time.Time)
	// Restore puts back what load passes to a sink.
	Restore func(now time.Time, load func(Sink) error) error

	saved uint64 // Changes of what the file has
}

// File returns the path.
func (s *SideFile[K]) File() string { return s.Path }

// Load puts back what the last run saved: nothing if there is no file. One that cannot be
// used is renamed, and the error says so.
func (s *SideFile[K]) Load(now time.Time) error {
	return s.Restore(now, func(to Sink) error { return loadIfThere(s.Path, now, to) })
}

// Save writes what is kept, unless nothing has changed since it was written.
func (s *SideFile[K]) Save(cut Cut) error {
	changes := s.Changes()
	if s.Path == "" || changes == s.saved {
		return nil
	}
	err := saveFile(s.Path, cut, func(w *Writer) { s.Write(w, cut.Taken) })
	if err == nil {
		s.saved = changes
	}
	return err
}

// saveFile writes a file of what write writes.
func saveFile(path string, cut Cut, write func(*Writer)) error {
	w, err := Create(path, cut)
	if err != nil {
		return err
	}
	defer w.Close()
	write(w)
	return w.Commit()
}

// loadIfThere reads a file as [LoadFile]. One that is not there is empty.
func loadIfThere(path string, now time.Time, to Sink) error {
	if _, err := LoadFile(path, now, to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
