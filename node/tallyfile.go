package node

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"edgeguard/haproxy/peers"
	"edgeguard/snapshot"
)

// How far HAProxies had counted when the state was saved is kept in a file beside the state:
// an older version refuses a state with records that it does not know. With it, what they
// counted while the node was away is counted when it returns; without it, what they have
// counted by then is where counting begins.
//
// What is in the file must be as new as the counts of the state or newer: older, it would
// count again what the state has. So it is written before the state, and where that fails
// the state is not written either.

// tallyFileName is the file's name in the folder of the state.
const tallyFileName = "node.haproxy"

// tallyFile is what HAProxies had counted, and the file. It is not safe for concurrent use;
// the tally is.
type tallyFile struct {
	Path  string // empty: it is not kept
	keys  int
	Kept  *peers.Tally
	state []byte
}

// newTallyFile returns a file without a path, for a node with so much memory for counts: a full
// table of one HAProxy is a fifth of that, or less. HAProxy's own has a million keys.
func newTallyFile(memory int64) tallyFile {
	keys := int(min(max(memory>>10, 1<<14), 1<<20))
	return tallyFile{keys: keys, Kept: peers.NewTally(keys)}
}

// Cut takes what is to be saved, while nothing is counted.
func (f *tallyFile) Cut(cut snapshot.Cut) {
	if f.Path != "" {
		f.state = f.Kept.Append(f.state[:0], cut.Offset)
	}
}

// Save writes what Cut has taken. The state of the same cut may be saved after it, and
// not after an error.
func (f *tallyFile) Save(cut snapshot.Cut) error {
	if f.Path == "" || bytes.Equal(f.state, nothing) {
		return nil
	}
	return snapshot.SaveNotes(f.Path, cut, slices.Chunk(f.state, snapshot.MaxNote))
}

// nothing is the state of a node to which no HAProxy has connected: it needs no file.
var nothing = peers.NewTally(1).Append(nil, 0)

// Load puts back what belongs to the state that was taken at an instant. A file that
// cannot be used is renamed, and the error says so.
func (f *tallyFile) Load(now, taken time.Time) error {
	if f.Path == "" {
		return nil
	}
	var state bytes.Buffer
	loaded, err := snapshot.LoadFile(f.Path, now, snapshot.Sink{Note: func(b []byte) { state.Write(b) }})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case loaded.Taken.Before(taken):
		return fmt.Errorf("%s is older than the state, and what it has would be counted again; %s: HAProxy's counters begin at what they are now",
			f.Path, snapshot.SetAside(f.Path))
	}
	kept, err := peers.ReadTally(state.Bytes(), f.keys)
	if err != nil {
		return fmt.Errorf("%s: %w; %s", f.Path, err, snapshot.SetAside(f.Path))
	}
	f.Kept = kept
	return nil
}
