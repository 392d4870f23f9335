package node

import (
	"slices"
	"time"

	"edgeguard/haproxy/peers"
	"edgeguard/snapshot"
)

// keptTally is how far HAProxies had counted, which the state has in notes, of one moment with
// its counts: what they counted while the node was away is counted when it returns. Without it,
// what they have counted by then is where counting begins. It is not safe for concurrent use;
// the tally is.
type keptTally struct {
	keys  int
	Kept  *peers.Tally
	state []byte // at the cut
}

// newKeptTally returns a tally for a node with so much memory for counts: a full table of one
// HAProxy is a fifth of that, or less. HAProxy's own has a million keys.
func newKeptTally(memory int64) keptTally {
	keys := int(min(max(memory>>10, 1<<14), 1<<20))
	return keptTally{keys: keys, Kept: peers.NewTally(keys)}
}

// cut takes what is to be written, while nothing is counted.
func (k *keptTally) cut(offset time.Duration) { k.state = k.Kept.Append(k.state[:0], offset) }

// write writes what cut has taken.
func (k *keptTally) write(w *snapshot.Writer) {
	for piece := range slices.Chunk(k.state, snapshot.MaxNote) {
		w.WriteNote(piece)
	}
}

// restore puts back what was written; an empty state has nothing.
func (k *keptTally) restore(state []byte) error {
	if len(state) == 0 {
		return nil
	}
	kept, err := peers.ReadTally(state, k.keys)
	if err == nil {
		k.Kept = kept
	}
	return err
}
