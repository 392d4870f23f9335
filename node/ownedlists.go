package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"edgeguard/clockguard"
	"edgeguard/enforce"
)

// ownedLists is the record of the lists that this node writes, in the state
// folder: without it, a list that leaves the config would stay in force for
// ever. It is safe for concurrent use.
type ownedLists struct {
	path   string // empty: kept in memory only
	clock  *clockguard.Clock
	alarms *alarms

	mu      sync.Mutex // guards owned, unsaved and the file
	owned   []enforce.Owned
	unsaved bool
}

func newOwnedLists(folder string, clock *clockguard.Clock, alarms *alarms) *ownedLists {
	l := &ownedLists{clock: clock, alarms: alarms}
	if folder != "" {
		l.path = filepath.Join(folder, enforce.OwnedName)
	}
	return l
}

// load reads the record. One that cannot be used is renamed, and an alarm.
func (l *ownedLists) load() {
	if err := l.read(); err != nil {
		l.alarms.happened(l.clock.Now(), alarmState, "lists", err.Error())
	}
}

func (l *ownedLists) read() error {
	if l.path == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	owned, err := enforce.LoadOwned(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		aside := l.path + ".aside"
		if moved := os.Rename(l.path, aside); moved != nil {
			aside = l.path
		}
		return fmt.Errorf("the record of this node's lists is unusable, so lists removed from the config stay in force (renamed to %s): %w", aside, err)
	}
	l.owned = owned
	return nil
}

// want records the lists of the config, before they are written, and returns
// those to be emptied: they are recorded, and no longer in the config.
func (l *ownedLists) want(now []enforce.Owned) (left []enforce.Owned, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	used := make(map[string]bool)
	for _, o := range now {
		used[o.File] = true
	}
	next := slices.Clone(now)
	for _, o := range l.owned {
		if used[o.File] {
			continue
		}
		if _, err := os.Lstat(o.Path); o.Keep && errors.Is(err, fs.ErrNotExist) {
			continue // it was kept, and deleted by hand
		}
		next = append(next, o)
		if !o.Keep {
			left = append(left, o)
		}
	}
	return left, l.set(next)
}

// forget removes a list from the record.
func (l *ownedLists) forget(gone enforce.Owned) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set(slices.DeleteFunc(slices.Clone(l.owned), func(o enforce.Owned) bool { return o.File == gone.File }))
}

// set replaces the record. It needs the lock.
func (l *ownedLists) set(owned []enforce.Owned) error {
	l.unsaved = l.unsaved || len(owned)+len(l.owned) > 0
	l.owned = owned
	return l.save()
}

// save writes the record if it changed. It needs the lock.
func (l *ownedLists) save() error {
	if l.path == "" || !l.unsaved {
		return nil
	}
	err := enforce.SaveOwned(l.path, l.owned)
	l.unsaved = err != nil
	return err
}

// retry writes a record that could not be written before.
func (l *ownedLists) retry(time.Time) {
	l.mu.Lock()
	err := l.save()
	l.mu.Unlock()
	l.saved(err)
}

// saved raises the alarm about a record that was not written, or ends it.
func (l *ownedLists) saved(err error) {
	const about = "lists"
	if err != nil {
		l.alarms.begins(l.clock.Now(), alarmState, about, "the record of this node's lists was not written, so a list removed from the config may stay in force: "+err.Error())
		return
	}
	l.alarms.ends(alarmState, about)
}
