package neighbours

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"edgeguard/feed"
	"edgeguard/internal/atomicfile"
	"edgeguard/internal/safepath"
)

// load returns the list that is kept under a name, nil if there is none. Who could write
// the file could block any address: so it must be this user's.
func load(folder, name string) (*feed.Kept, error) {
	if folder == "" {
		return nil, nil
	}
	path := filepath.Join(folder, kept+name)
	b, err := safepath.ReadOwn(path, int64(feed.MaxKept)+1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	k, err := feed.Unmarshal(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// save keeps a list under a name.
func save(folder, name string, k *feed.Kept) error {
	if folder == "" {
		return nil
	}
	b, err := k.Marshal()
	if err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(folder, kept+name), b, atomicfile.Options{Mode: 0o600})
}
