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

// auditFileName is the file of what operators changed by hand in the folder of the state.
const auditFileName = "node.audit"

// auditSide returns the file in a folder of an audit. What was saved comes before what
// this run has added.
func auditSide(folder string, kept *watch.Ring[admin.Audit]) snapshot.SideFile[*watch.Ring[admin.Audit]] {
	return snapshot.SideFile[*watch.Ring[admin.Audit]]{
		Path: inState(folder, auditFileName), Kept: kept, Changes: kept.Added,
		Write: func(w *snapshot.Writer, _ time.Time) {
			all, _ := kept.Page(0, watch.MostRecent)
			for _, one := range slices.Backward(all) {
				w.Note(note(one))
			}
		},
		Restore: func(_ time.Time, load func(snapshot.Sink) error) error {
			var earlier []admin.Audit
			err := load(snapshot.Sink{Note: func(text []byte) {
				var one admin.Audit
				if len(earlier) < watch.MostRecent && json.Unmarshal(text, &one) == nil { // a later version may have others
					earlier = append(earlier, one)
				}
			}})
			kept.Restore(earlier)
			return err
		},
	}
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
