package node

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/watch"
	"edgeguard/snapshot"
)

// What operators changed by hand is kept in a file beside the state, so that it is still read
// after a restart. It is a file of its own for the same reason as that of the evidence: an
// older version refuses a state with records that it does not know.

// auditFileName is the file's name in the folder of the state.
const auditFileName = "node.audit"

// auditFile is the audit and the file that it is kept in. It is not safe for concurrent
// use.
type auditFile struct {
	Path  string // empty: it is not kept
	Kept  *watch.Ring[admin.Audit]
	saved uint64 // Added of what the file has
}

// Load puts back what the last run saved, before what this one has added. A file
// that cannot be used is renamed, and the error says so.
func (f *auditFile) Load(now time.Time) error {
	var earlier []admin.Audit
	err := snapshot.LoadNotes(f.Path, now, func(text []byte) {
		var one admin.Audit
		if len(earlier) < watch.MostRecent && json.Unmarshal(text, &one) == nil { // a later version may have others
			earlier = append(earlier, one)
		}
	})
	f.Kept.Restore(earlier)
	return err
}

// Save writes what is kept, unless nothing has been added since it was written.
func (f *auditFile) Save(cut snapshot.Cut) error {
	added := f.Kept.Added()
	if f.Path == "" || added == f.saved {
		return nil
	}
	all, _ := f.Kept.Page(0, watch.MostRecent)
	err := snapshot.SaveNotes(f.Path, cut, func(yield func([]byte) bool) {
		for _, one := range slices.Backward(all) {
			if !yield(note(one)) {
				return
			}
		}
	})
	if err == nil {
		f.saved = added
	}
	return err
}

// note returns an action as it is saved. Texts that are too long are cut: the action
// itself must not be lost for them.
func note(one admin.Audit) []byte {
	for {
		text, err := json.Marshal(one)
		if err != nil || len(text) <= snapshot.MaxNote {
			return text
		}
		for _, long := range []*string{&one.Who, &one.User, &one.Target, &one.Detail, &one.Result} {
			*long = strings.ToValidUTF8((*long)[:min(len(*long), max(80, len(*long)/2))], "")
		}
	}
}
