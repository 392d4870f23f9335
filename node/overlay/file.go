package overlay

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"edgeguard/config"
	"edgeguard/internal/atomicfile"
	"edgeguard/internal/safepath"
	"edgeguard/snapshot"
)

// fileName is the overlay's file in the state folder.
const fileName = "overlay.yaml"

// mostBytes is more than a file has that the config's reader accepts.
const mostBytes = 2 << 20

// FileIn returns the overlay's file in a state folder; empty for none.
func FileIn(folder string) string {
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, fileName)
}

// Read reads a file; one that is not there has an empty overlay.
func Read(path string) (*config.Overlay, error) {
	text, err := readAll(path)
	if err != nil || text == nil {
		return &config.Overlay{}, err
	}
	return config.ParseOverlay(path, text)
}

// readAll returns what a file has; nil for one that is not there.
func readAll(path string) ([]byte, error) {
	text, err := safepath.ReadOwn(path, mostBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// readOrSetAside reads the overlay, and renames a file that cannot be used: it can be
// looked at, and the node starts without it. The error has the new name.
func readOrSetAside(path string) (*config.Overlay, error) {
	o, err := Read(path)
	if err != nil {
		return &config.Overlay{}, fmt.Errorf("overlay %s cannot be used: %w; %s", path, err, snapshot.SetAside(path))
	}
	return o, nil
}

// write replaces a file as a whole. It refuses what Read would not read: a node must
// not write a file that its next start sets aside.
func write(path string, o *config.Overlay) error {
	text := o.YAML()
	if _, err := config.ParseOverlay(path, []byte(text)); err != nil {
		return fmt.Errorf("the overlay would be too large or invalid: %w", err)
	}
	return replace(path, []byte(text))
}

// replace replaces a file as a whole.
func replace(path string, text []byte) error {
	return atomicfile.Replace(path, text, atomicfile.Options{Mode: 0o600})
}
