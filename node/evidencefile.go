package node

import (
	"slices"
	"time"

	"edgeguard/node/evidence"
	"edgeguard/snapshot"
)

// The evidence of blocks is kept in a file beside the state. It is a file of its own: an older
// version refuses a state with records that it does not know, and would start without its
// blocks; and a state is written each second while blocks are made, but this file only when
// the evidence has changed.

// evidenceFileName is the file's name in the folder of the state.
const evidenceFileName = "node.evidence"

// evidenceFile is the evidence and the file that it is kept in. It is not safe for
// concurrent use.
type evidenceFile struct {
	Path  string // empty: it is not kept
	Kept  *evidence.Kept
	saved uint64 // Changes of what the file has
}

// Load puts back what the last run saved. A file that cannot be used is renamed, and
// the error says so.
func (f *evidenceFile) Load(now time.Time) error {
	return snapshot.LoadEvidence(f.Path, now, f.Kept.Restore)
}

// Save writes what is kept, unless nothing has changed since it was written.
func (f *evidenceFile) Save(cut snapshot.Cut) error {
	changes := f.Kept.Changes()
	if f.Path == "" || changes == f.saved {
		return nil
	}
	err := snapshot.SaveEvidence(f.Path, cut, slices.Values(f.Kept.All(cut.Taken)))
	if err == nil {
		f.saved = changes
	}
	return err
}
