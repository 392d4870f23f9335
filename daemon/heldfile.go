package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"edgeguard/fleet"
)

// heldName is the file beside the state that has the blocks which wait for a
// word. They are not in the snapshot, which is of what is in force.
const heldName = "held.json"

// heldFile is empty where no state is kept.
func (n *Node) heldFile() string {
	if n.state.path == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(n.state.path), heldName)
}

// restoreHeld has wait what waited when the node ended. Without it a restart
// would put all of it in force: a node that has seen no requests yet takes what
// the fleet has.
func (n *Node) restoreHeld() {
	file := n.heldFile()
	if file == "" {
		return
	}
	var held []fleet.Held
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, &held)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		n.alarms.happened(n.clock.Now(), alarmState, file, fmt.Sprintf("what waited for a word is not known, and may be in force: %v", err))
		return
	}
	for i := range held {
		held[i].Block = view{n}.inward(held[i].Block)
		held[i].At = n.clock.Local(held[i].At)
	}
	n.hold.Restore(n.clock.Now(), held)
}

// saveHeld writes down what waits, if that has changed since.
func (n *Node) saveHeld() error {
	now := n.hold.Stats()
	if now == n.state.held {
		return nil
	}
	held := n.hold.All()
	for i := range held {
		held[i].Block = view{n}.outward(held[i].Block)
		held[i].At = n.clock.Epoch(held[i].At)
	}
	content, err := json.Marshal(held)
	if err != nil {
		return err
	}
	if err := replaceFile(n.heldFile(), content); err != nil {
		return err
	}
	n.state.held = now
	return nil
}

// replaceFile writes a file in one step: there is the old one or the new one.
func replaceFile(file string, content []byte) error {
	f, err := os.OpenFile(file+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
