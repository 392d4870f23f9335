package node

import (
	"time"

	"edgeguard/blocklist"
	"edgeguard/snapshot"
)

// replacedFileName is the file of the blocks that others took the place of, in the folder of the
// state.
const replacedFileName = "node.replaced"

// replacedSide returns the file in a folder of what a list's blocks have replaced.
func replacedSide(folder string, list *blocklist.List) snapshot.SideFile[*blocklist.List] {
	return snapshot.SideFile[*blocklist.List]{
		Path: inState(folder, replacedFileName), Kept: list, Changes: list.Replacements,
		Write: func(w *snapshot.Writer, _ time.Time) {
			for b, trust := range list.ReplacedRecords() {
				w.Block(blockToSave(b, trust))
			}
		},
		Restore: func(_ time.Time, load func(snapshot.Sink) error) error {
			return load(snapshot.Sink{Block: func(b *snapshot.Block) { list.RestoreReplaced(b.Block, trustOfSaved(b)) }})
		},
	}
}
