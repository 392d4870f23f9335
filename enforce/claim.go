package enforce

import (
	"os"
	"path/filepath"

	"edgeguard/internal/safepath"
)

// claim says that this process keeps a list, for as long as it is held: no other
// process of this host empties the list during that time. Several may keep one list, as
// two instances do while one takes over from the other.
type claim struct{ file *os.File }

// takeClaim locks the hidden file beside the list, for one process alone or with
// all others who keep it; ErrInUse where another process is in the way. A link in its
// place is not followed.
func takeClaim(path string, alone bool) (*claim, error) {
	at, err := safepath.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = at.Close() }()
	f, err := openLock(filepath.Join(filepath.Dir(at.Path), "."+at.Name+".lock"))
	if err != nil {
		return nil, err
	}
	if err := lock(f, alone); err != nil {
		_ = f.Close()
		return nil, err
	}
	// Emptying the list removes its lock: then this one protects nothing.
	if !isAt(f) {
		_ = f.Close()
		return nil, ErrInUse
	}
	return &claim{f}, nil
}

// isAt reports whether a file still is what its name says.
func isAt(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(mine, named)
}

// release gives up the claim; nil is none.
func (c *claim) release() {
	if c != nil {
		_ = c.file.Close()
	}
}

// remove gives up a claim that was held alone, with its file.
func (c *claim) remove() {
	_ = os.Remove(c.file.Name())
	c.release()
}
