package node

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"edgeguard/snapshot"
	"edgeguard/tuning"
)

// This file keeps the history of counts on disk, in a file beside the
// state, for the reasons in evidencefile.go: an older version refuses a state
// with records that it does not know; and a state is written each second while blocks
// are made, but this file only when a window has ended.

// HistoryFileName is the file's name in the folder of the state.
const HistoryFileName = "node.history"

// historyFile is a history and the file that it is kept in. It is not safe for concurrent
// use; the history is.
type historyFile struct {
	Path  string // empty: it is not kept
	Kept  *tuning.History
	saved uint64 // Changes of what the file has
}

// Load puts back what the last run saved. A file that cannot be used is renamed, and
// the error says so; a distribution that is none is left out.
func (f *historyFile) Load(now time.Time) error {
	var wrong error
	err := snapshot.LoadDistributions(f.Path, now, func(one snapshot.Distribution) {
		if err := f.Kept.Restore(now, tuning.Meter{Fingerprint: one.Fingerprint, Window: one.Window}, one.At, one.Form); err != nil {
			wrong = fmt.Errorf("history %s: of %v: %w; it is left out", f.Path, one.At, err)
		}
	})
	return errors.Join(err, wrong)
}

// Save writes what is kept, unless nothing has changed since it was written.
func (f *historyFile) Save(cut snapshot.Cut) error {
	changes := f.Kept.Changes()
	if f.Path == "" || changes == f.saved {
		return nil
	}
	err := snapshot.SaveDistributions(f.Path, cut, records(f.Kept))
	if err == nil {
		f.saved = changes
	}
	return err
}

func records(h *tuning.History) iter.Seq[snapshot.Distribution] {
	return func(yield func(snapshot.Distribution) bool) {
		for m, w := range h.All() {
			if !yield(snapshot.Distribution{Fingerprint: m.Fingerprint, Window: m.Window, At: w.At, Form: w.Counts}) {
				return
			}
		}
	}
}
