// Package names keeps blocks as files of a folder, one for each blocked address, for a proxy
// that can test whether a file is there: nginx by `if (-f …)`, Caddy by its matcher `file`.
// So a block is in force with the next request, and nothing is reloaded.
//
// The files are hard links to one, which is empty. A prefix of more than 256 names, or
// inside an IPv6 /64, is none ([Fits]): it belongs into a list beside the folder.
package names

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"edgeguard/enforce"
	"edgeguard/internal/filelock"
	"edgeguard/internal/safepath"
	"edgeguard/internal/sleep"
)

// seed is the file to which all others are links. It is locked while a process keeps the
// folder, and marks it as edgeguard's.
const seed = ".edgeguard"

const (
	// endsEvery is how often names that are over are looked for.
	endsEvery = time.Second
	// folderMode lets every proxy look for names, and only this user change them.
	folderMode fs.FileMode = 0o755
)

// Config says which folder to keep.
type Config struct {
	Path string
	Most int // names; the prefixes of more are left out
	// Now is the clock that ends are of.
	Now func() time.Time
	// LeftOut is called when other prefixes are left out than before, which another list then has. It
	// must not wait for the folder. nil is possible.
	LeftOut func()
}

// Folder is the enforcer. It is safe for concurrent use. Make one with [New].
type Folder struct {
	config Config

	mu    sync.Mutex      // guards all below
	place *safepath.Place // of the seed; nil before the first Replace, or after one that failed
	claim *filelock.Lock  // nil likewise
	names counts

	// Who asks for what is left out must not wait for a folder.
	leaving sync.RWMutex // guards names.left beside mu
}

// New returns a folder that is not opened before the first Replace.
func New(c Config) *Folder { return &Folder{config: c, names: newCounts(c.Most, 0)} }

var (
	_ enforce.Incremental = (*Folder)(nil)
	_ enforce.Watched     = (*Folder)(nil)
)

// Traits returns how to use it: changes are passed on as they come.
func (f *Folder) Traits() enforce.Traits { return enforce.Traits{Takes: time.Second} }

// Replace makes the folder hold the names of entries, whatever it held. What has no name's
// form is nobody's block, and stays.
func (f *Folder) Replace(ctx context.Context, _ time.Time, entries []enforce.Entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	next := newCounts(f.config.Most, len(entries))
	next.replace(entries)
	next.moved = !maps.Equal(next.left, f.names.left)
	f.leaving.Lock()
	f.names = next
	f.leaving.Unlock()
	f.tellLeft()
	if err := f.open(); err != nil {
		return err
	}
	missing, wrong, err := f.compare()
	if err != nil {
		return err
	}
	if err := f.change(ctx, missing, wrong); err != nil {
		return err
	}
	return f.reachable()
}

// Apply adds and removes names.
func (f *Folder) Apply(ctx context.Context, _ time.Time, add []enforce.Entry, remove []netip.Prefix) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var fresh, gone []name
	for _, e := range add {
		if Fits(e.Prefix) {
			f.leaving.Lock()
			fresh = f.names.add(fresh, e)
			f.leaving.Unlock()
		}
	}
	for _, p := range remove {
		f.leaving.Lock()
		gone = f.names.remove(gone, p)
		f.leaving.Unlock()
	}
	f.tellLeft()
	if f.place == nil {
		return fmt.Errorf("%s is not open", f.config.Path) // the whole list comes next
	}
	return f.change(ctx, fresh, gone)
}

// Watch takes out what is over until ctx is done, and calls lost when it cannot.
func (f *Folder) Watch(ctx context.Context, lost func()) {
	for sleep.For(ctx, endsEvery) {
		f.mu.Lock()
		gone := f.names.expire(f.config.Now())
		var err error
		if len(gone) > 0 && f.place != nil {
			err = f.change(ctx, nil, gone)
		}
		f.mu.Unlock()
		if err != nil {
			lost()
		}
	}
}

// Close gives up the claim. The names stay.
func (f *Folder) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.release()
	return nil
}

// Left returns how many prefixes are left out because the folder has as many names as it
// may.
func (f *Folder) Left() int {
	f.leaving.RLock()
	defer f.leaving.RUnlock()
	return len(f.names.left)
}

// Refuses returns a function that reports whether a prefix is left to the folder, and has
// room there.
func (f *Folder) Refuses() func(netip.Prefix) bool {
	return func(p netip.Prefix) bool {
		f.leaving.RLock()
		_, left := f.names.left[p]
		f.leaving.RUnlock()
		return Fits(p) && !left
	}
}

// tellLeft tells who has what is left out. It needs the lock.
func (f *Folder) tellLeft() {
	if f.names.moved && f.config.LeftOut != nil {
		f.config.LeftOut()
	}
	f.names.moved = false
}

// release gives up what is held of the folder. It needs the lock.
func (f *Folder) release() {
	f.claim.Release()
	if f.place != nil {
		_ = f.place.Close()
	}
	f.claim, f.place = nil, nil
}

// open opens the folder that is there now, and makes it where there is none. It needs the
// lock.
func (f *Folder) open() (err error) {
	f.release()
	if f.place, err = opened(f.config.Path, true); err != nil {
		return err
	}
	f.claim, err = filelock.Take(f.place.Path, false)
	if err != nil {
		f.release()
	}
	return err
}

// opened returns the place of a folder's seed.
func opened(path string, missing bool) (*safepath.Place, error) {
	place, err := safepath.Open(filepath.Join(path, seed))
	if !errors.Is(err, fs.ErrNotExist) || !missing {
		return place, err
	}
	parent, err := safepath.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = parent.Close() }()
	if err := parent.Mkdir(parent.Name, folderMode); err != nil {
		return nil, err
	}
	if err := parent.Chmod(parent.Name, folderMode); err != nil { // whatever the umask
		return nil, err
	}
	return safepath.Open(filepath.Join(path, seed))
}

// pageEntries is how many files of the folder are read at a time.
const pageEntries = 4096

// compare returns the names that are missing, and those that are there and should not, or are
// no files. It needs the lock.
func (f *Folder) compare() (missing, wrong []name, err error) {
	d, err := os.Open(filepath.Dir(f.place.Path)) // a folder of a Root asks for each file
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = d.Close() }() // it was only read
	there := make(map[name]bool, len(f.names.owners))
	for {
		entries, err := d.ReadDir(pageEntries)
		for _, e := range entries {
			n, ok := parseName(e.Name())
			switch {
			case !ok:
			case f.names.owners[n] > 0 && e.Type().IsRegular():
				there[n] = true
			default:
				wrong = append(wrong, n)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for n := range f.names.owners {
		if !there[n] {
			missing = append(missing, n)
		}
	}
	return missing, wrong, nil
}

// change takes names out first, which makes room, and puts others in. One that cannot be taken
// out keeps no other from its place. It needs the lock.
func (f *Folder) change(ctx context.Context, in, out []name) (stays error) {
	for i, n := range out {
		if err := f.place.Remove(n.String()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			stays = fmt.Errorf("take out of %s: %w", f.config.Path, err)
		}
		if i%pageEntries == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for i, n := range in {
		if err := f.link(n.String()); err != nil {
			return fmt.Errorf("%d of %d blocked addresses are not in %s: %w", len(in)-i, len(f.names.owners), f.config.Path, err)
		}
		if i%pageEntries == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return stays
}

// link makes one name. Where a file may have no more links, or is another user's, the name
// is a file of its own.
func (f *Folder) link(file string) error {
	err := f.place.Link(seed, file)
	switch {
	case err == nil, errors.Is(err, fs.ErrExist):
		return nil
	case !errors.Is(err, syscall.EMLINK) && !errors.Is(err, fs.ErrPermission):
		return err
	}
	own, err := f.place.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return own.Close()
}

// reachable returns an error where another user may not look for the names: then the proxy
// lets everybody pass, and says nothing. It needs the lock.
func (f *Folder) reachable() error {
	for folder := filepath.Dir(f.place.Path); ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("%s: a proxy of another user finds no name behind %s (mode %04o): chmod o+x %s", f.config.Path, folder, info.Mode().Perm(), folder)
		}
		if folder == filepath.Dir(folder) {
			return nil
		}
	}
}

// Clear removes all names from a folder; kept says that it may be one that a process keeps,
// which then puts its names back within a minute. One that is not there needs nothing.
func Clear(ctx context.Context, path string, kept bool) error {
	place, err := opened(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f := &Folder{config: Config{Path: path}, place: place, names: newCounts(0, 0)}
	defer f.release()
	if _, err := place.Lstat(seed); err != nil {
		return fmt.Errorf("%s: %w", path, enforce.ErrNotOurs)
	}
	if f.claim, err = filelock.Take(place.Path, true); err != nil && !kept {
		return err
	}
	_, wrong, err := f.compare()
	if err != nil {
		return err
	}
	if err := f.change(ctx, nil, wrong); err != nil {
		return err
	}
	return place.Remove(seed)
}
