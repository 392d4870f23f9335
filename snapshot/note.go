package snapshot

import (
	"errors"
	"io/fs"
	"iter"
	"time"
)

// MaxNote is how many bytes a note may have.
const MaxNote = maxText

// SaveNotes writes a file of notes alone: texts that only their writer reads.
func SaveNotes(path string, cut Cut, notes iter.Seq[[]byte]) error {
	w, err := Create(path, cut)
	if err != nil {
		return err
	}
	defer w.Close()
	for text := range notes {
		w.open(kindNote).bytes(text)
	}
	return w.Commit()
}

// LoadNotes reads such a file, as [Load]. A file that is not there is empty. take may
// not keep a note.
func LoadNotes(path string, now time.Time, take func([]byte)) error {
	if _, err := Load(path, now, Sink{Note: take}); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
