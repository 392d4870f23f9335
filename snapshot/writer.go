package snapshot

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"edgeguard"
	"edgeguard/internal/atomicfile"
	"edgeguard/internal/safepath"
)

// Writer writes one snapshot, record by record. The first error stays and is
// what Commit returns; until then records are taken and dropped. It is not
// safe for concurrent use.
type Writer struct {
	path  string
	place *safepath.Place
	file  *atomicfile.Draft
	cut   Cut
	frame encoder // the frame that is being filled; its kind is below
	kind  byte
	whole *xxhash.Digest // of all that was written
	shift int64          // of the meter's slots
	count tally
	sum   uint64
	err   error
}

// Create begins a snapshot that Commit will put at path. The folder must be
// there; what writers that were killed left in it is removed. One process
// writes to a path at a time: of two, one will fail.
func Create(path string, cut Cut) (*Writer, error) {
	return create(path, cut, nil)
}

// create is Create with a function that is called before each stage, for tests.
// The file is for its owner alone: it names addresses.
func create(path string, cut Cut, before func(atomicfile.Stage) error) (*Writer, error) {
	place, err := safepath.Open(path)
	if err != nil {
		return nil, fmt.Errorf("state %s: %w", path, err)
	}
	f, err := atomicfile.Create(place, atomicfile.Options{Mode: 0o600, Before: before})
	if err != nil {
		_ = place.Close()
		return nil, fmt.Errorf("state %s: %w", path, err)
	}
	w := &Writer{path: path, place: place, file: f, cut: cut, whole: xxhash.New()}
	w.write(binary.LittleEndian.AppendUint16([]byte(magic), version))
	w.beginFrame(kindHead).cut(&cut)
	return w, nil
}

// Meter says whose windows follow.
func (w *Writer) Meter(m Meter) {
	w.flush()
	w.shift = w.cut.shift(m.Width)
	w.beginFrame(kindMeter).meter(&m)
}

// Window writes a key's counts under the last meter. An empty window is left
// out.
func (w *Writer) Window(win *Window) {
	e := w.beginFrame(kindWindow)
	size := len(e.buf)
	e.window(win, w.shift)
	if len(e.buf) > size {
		w.count.windows++
	}
}

// Block writes a block or a tombstone.
func (w *Writer) Block(b *Block) {
	w.beginFrame(kindBlock).block(b, w.cut.Offset)
	w.count.blocks++
}

// WriteStep writes how often a key was blocked before.
func (w *Writer) WriteStep(s Step) {
	w.beginFrame(kindStep).step(&s, w.cut.Offset)
	w.count.steps++
}

// Position writes how far a sensor has read. Its place is copied.
func (w *Writer) Position(p Position) {
	w.beginFrame(kindPosition).position(&p)
	w.count.positions++
}

// Evidence writes what a key had counted when it was blocked.
func (w *Writer) Evidence(e *edgeguard.Evidence) {
	w.beginFrame(kindEvidence).evidence(e, w.cut.Offset)
}

// Distribution writes how a meter's counts were distributed. Its form is copied.
func (w *Writer) Distribution(one Distribution) {
	w.beginFrame(kindDistribution).distribution(&one, w.cut.Offset)
}

// Commit puts the snapshot in its place, and returns nil when it is safe on the
// disk, or else the first error. After an error the old file is in place, unless it
// was the folder that could not be synced. The writer is used up either way.
func (w *Writer) Commit() error {
	w.flush()
	w.beginFrame(kindEnd).tally(w.count)
	w.sum = w.whole.Sum64()
	w.frame.fixed64(w.sum)
	w.flush()
	defer w.Close()
	if w.err == nil {
		_, w.err = w.file.Commit()
	}
	if w.err != nil {
		return fmt.Errorf("state %s: %w", w.path, w.err)
	}
	return nil
}

// Checksum returns the checksum of the snapshot, after Commit: Loaded.Sum when it is
// read.
func (w *Writer) Checksum() uint64 { return w.sum }

// Close gives up a snapshot that was not committed and removes what was
// written. After Commit it does nothing.
func (w *Writer) Close() {
	w.file.Discard()
	_ = w.place.Close()
}

// beginFrame returns the frame for a record of this kind.
func (w *Writer) beginFrame(kind byte) *encoder {
	if w.kind != kind || len(w.frame.buf) > frameHead+maxPayload-maxRecord {
		w.flush()
		w.kind = kind
		w.frame.buf = begin(w.frame.buf)
	}
	return &w.frame
}

// flush writes the frame that is being filled, if there is one.
func (w *Writer) flush() {
	if w.err == nil {
		w.err = w.frame.err
	}
	if w.kind != 0 && len(w.frame.buf) > frameHead {
		w.write(sealFrame(w.kind, w.frame.buf))
	}
	w.kind = 0
}

func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	_, _ = w.whole.Write(b)
	_, w.err = w.file.Write(b)
}
