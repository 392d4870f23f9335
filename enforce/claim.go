package enforce

import (
	"path/filepath"

	"edgeguard/internal/filelock"
	"edgeguard/internal/safepath"
)

// takeClaim locks the hidden file beside the list, for one process alone or with
// all others who keep it; ErrInUse where another process is in the way. While a claim is held,
// no other process of this host empties the list. Several may keep one list, as
// two instances do while one takes over from the other.
func takeClaim(path string, alone bool) (*filelock.Lock, error) {
	at, err := safepath.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = at.Close() }()
	return filelock.Take(filepath.Join(filepath.Dir(at.Path), "."+at.Name+".lock"), alone)
}
