package blocklists

import (
	"errors"
	"fmt"
	"io"
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
	place, err := safepath.Open(filepath.Join(folder, kept+name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = place.Close() }()
	f, err := place.OpenOwn()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, int64(feed.MaxKept)+1))
	if err != nil {
		return nil, err
	}
	k, err := feed.Unmarshal(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place.Path, err)
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
	place, err := safepath.Open(filepath.Join(folder, kept+name))
	if err != nil {
		return err
	}
	defer func() { _ = place.Close() }()
	f, err := atomicfile.Create(place, atomicfile.Options{Mode: 0o600})
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(b); err != nil {
		return err
	}
	_, err = f.Commit()
	return err
}
