package snapshot

import (
	"iter"
	"time"
)

// MaxNote is how many bytes a note may have.
const MaxNote = maxText

// WriteNote writes a text that only its writer reads.
func (w *Writer) WriteNote(text []byte) { w.beginFrame(kindNote).bytes(text) }

// SaveNotes writes a file of notes alone.
func SaveNotes(path string, cut Cut, notes iter.Seq[[]byte]) error {
	return saveFile(path, cut, func(w *Writer) {
		for text := range notes {
			w.WriteNote(text)
		}
	})
}

// LoadNotes reads such a file, as [LoadFile]. A file that is not there is empty. take may
// not keep a note.
func LoadNotes(path string, now time.Time, take func([]byte)) error {
	return loadIfThere(path, now, Sink{Note: take})
}
