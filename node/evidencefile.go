package node

import (
	"time"

	"edgeguard/node/evidence"
	"edgeguard/snapshot"
)

// evidenceFileName is the file of the blocks' evidence in the folder of the state.
const evidenceFileName = "node.evidence"

// evidenceSide returns the file in a folder of evidence.
func evidenceSide(folder string, kept *evidence.Kept) snapshot.SideFile[*evidence.Kept] {
	return snapshot.SideFile[*evidence.Kept]{
		Path: inState(folder, evidenceFileName), Kept: kept, Changes: kept.Changes,
		Write: func(w *snapshot.Writer, taken time.Time) {
			all := kept.All(taken)
			for i := range all {
				w.Evidence(&all[i])
			}
		},
		Restore: func(_ time.Time, load func(snapshot.Sink) error) error {
			return load(snapshot.Sink{Evidence: kept.Restore})
		},
	}
}
