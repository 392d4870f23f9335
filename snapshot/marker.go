package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"edgeguard/internal/atomicfile"
	"edgeguard/internal/safepath"
)

const (
	markerName  = "fleet.boot"
	markerMagic = "edgeguard boot "
	markerHead  = markerMagic + "1\n"
	maxMarker   = 1 << 20 // 20,000 meters
)

// machineID names the machine; a clone of it should have another.
var machineID = "/etc/machine-id"

// Marker says that a node of a fleet ended cleanly: its snapshot has all that
// it pushed under its boot, so that the next process may continue that boot. It
// is for one start: [ReadMarker] removes it, so that a process that is killed
// leaves none.
type Marker struct {
	Boot      string `json:"boot"`
	Node      string `json:"node"`
	Namespace string `json:"namespace"`
	// Ended is when the node ended, by its own clock, and Redis the same by
	// Redis' clock, both of the epoch.
	Ended time.Time `json:"ended"`
	Redis time.Time `json:"redis"`
	// Snapshot is the checksum of the snapshot that has the counts: Writer.Checksum
	// and Loaded.Sum.
	Snapshot uint64 `json:"snapshot"`
	// Since is aggregator.Totals.Since: the first slot that the boot pushed, by
	// meter.
	Since map[uint64]uint32 `json:"since"`
	// Machine and Path say where it was written. WriteMarker sets them.
	Machine string `json:"machine"`
	Path    string `json:"path"`
}

// WriteMarker puts a marker beside the snapshot in the folder. Call it last,
// after the newest push and after the snapshot's Commit.
func WriteMarker(folder string, m Marker) error { return writeMarker(folder, m, nil) }

func writeMarker(folder string, m Marker, before func(atomicfile.Stage) error) error {
	place, err := safepath.Open(filepath.Join(folder, markerName))
	if err != nil {
		return err
	}
	defer func() { _ = place.Close() }()
	m.Machine, m.Path = machine(), place.Path
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(place, atomicfile.Options{Mode: 0o600, Before: before})
	if err != nil {
		return err
	}
	defer f.Discard()
	text = append([]byte(markerHead), text...)
	if _, err := fmt.Fprintf(f, "%s\n%08x\n", text, crc32.Checksum(text, castagnoli)); err != nil {
		return err
	}
	_, err = f.Commit()
	return err
}

// ReadMarker returns the marker in the folder and removes it: when it returns
// without an error, no crash brings it back. The error is fs.ErrNotExist where
// there is none, as after a kill. After any error the node draws a new boot.
func ReadMarker(folder string) (Marker, error) { return readMarker(folder, (*safepath.Place).Sync) }

func readMarker(folder string, sync func(*safepath.Place) error) (m Marker, err error) {
	place, err := safepath.Open(filepath.Join(folder, markerName))
	if err != nil {
		return m, err
	}
	defer func() { _ = place.Close() }()
	m, err = parseMarker(place)
	if removed := place.Remove(markerName); err == nil {
		err = removed
	}
	if err == nil {
		err = sync(place)
	}
	if err != nil {
		return Marker{}, fmt.Errorf("%s: %w", place.Path, err)
	}
	if m.Machine != machine() || m.Path != place.Path {
		return Marker{}, fmt.Errorf("%s: written by another machine, or in another folder: %w", place.Path, errForeign)
	}
	return m, nil
}

func parseMarker(place *safepath.Place) (m Marker, err error) {
	f, err := place.OpenOwn()
	if err != nil {
		return m, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxMarker))
	if err != nil {
		return m, err
	}
	if !bytes.HasPrefix(text, []byte(markerMagic)) {
		return m, errForeign
	}
	const tail = 10 // a line's end, the checksum and its line's end
	if !bytes.HasPrefix(text, []byte(markerHead)) {
		return m, errVersion
	}
	at := len(text) - tail
	if at < len(markerHead) || string(text[at:]) != fmt.Sprintf("\n%08x\n", crc32.Checksum(text[:at], castagnoli)) {
		return m, errDamaged
	}
	if err := json.Unmarshal(text[len(markerHead):at], &m); err != nil {
		return m, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return m, nil
}

// machine returns a name of this machine, which does not show its ID. Without
// an ID it is the host's name.
func machine() string {
	id, err := os.ReadFile(machineID)
	if id = bytes.TrimSpace(id); err != nil || len(id) == 0 {
		name, _ := os.Hostname()
		id = []byte("host " + name)
	}
	sum := sha256.Sum256(append([]byte("edgeguard boot\x00"), id...))
	return hex.EncodeToString(sum[:])
}

// Refuses returns why a process that starts now, on the epoch's clock, and has
// loaded a snapshot must not continue the marker's boot; "" where it may. window
// is the longest of the rules.
func (m *Marker) Refuses(node, namespace string, l *Loaded, now time.Time, window time.Duration) string {
	switch {
	case m.Node != node || m.Namespace != namespace:
		return fmt.Sprintf("it was node %q of the fleet %q", m.Node, m.Namespace)
	case m.Snapshot != l.Sum:
		return "the state is not the one that it saved last"
	case now.Before(m.Ended):
		return "the clock was set back"
	case now.Sub(m.Ended) >= window:
		return "it ended longer ago than the longest window"
	case l.Settled > 0:
		return "the clock was set back, and counts moved to other slots"
	}
	return ""
}
