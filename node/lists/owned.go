package lists

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"edgeguard/enforce"
	"edgeguard/node/alarm"
	"edgeguard/snapshot"
)

// record holds the lists that this node writes, and keeps them in the state
// folder: without it, a list that leaves the config would stay in force for
// ever. It is safe for concurrent use.
type record struct {
	path   string // empty: kept in memory only
	now    func() time.Time
	alarms *alarm.Tracker

	mu      sync.Mutex // guards lists, unsaved and the file
	lists   []enforce.Owned
	unsaved bool
}

func newRecord(c Config) *record {
	l := &record{now: c.Now, alarms: c.Alarms}
	if c.State != "" {
		l.path = filepath.Join(c.State, enforce.OwnedName)
	}
	return l
}

// load reads the record. One that cannot be used is renamed, and an alarm.
func (l *record) load() {
	if err := l.read(); err != nil {
		l.alarms.Happened(l.now(), alarm.State, "lists", err.Error())
	}
}

func (l *record) read() error {
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
		return fmt.Errorf("the record of this node's lists is unusable, so lists removed from the config stay in force: %w; %s", err, snapshot.SetAside(l.path))
	}
	l.lists = owned
	return nil
}

// want records the lists of the config, before they are written, and returns
// those to be emptied: they are recorded, and no longer in the config.
func (l *record) want(now []enforce.Owned) (left []enforce.Owned, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	used := make(map[string]bool)
	for _, o := range now {
		used[o.File] = true
	}
	next := slices.Clone(now)
	for _, o := range l.lists {
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
func (l *record) forget(gone enforce.Owned) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set(slices.DeleteFunc(slices.Clone(l.lists), func(o enforce.Owned) bool { return o.File == gone.File }))
}

// set replaces the record. It needs the lock.
func (l *record) set(owned []enforce.Owned) error {
	l.unsaved = l.unsaved || len(owned)+len(l.lists) > 0
	l.lists = owned
	return l.save()
}

// save writes the record if it changed. It needs the lock.
func (l *record) save() error {
	if l.path == "" || !l.unsaved {
		return nil
	}
	err := enforce.SaveOwned(l.path, l.lists)
	l.unsaved = err != nil
	return err
}

// retry writes a record that could not be written before.
func (l *record) retry() {
	l.mu.Lock()
	err := l.save()
	l.mu.Unlock()
	l.saved(err)
}

// saved raises the alarm about a record that was not written, or ends it.
func (l *record) saved(err error) {
	const about = "lists"
	if err != nil {
		l.alarms.Begins(l.now(), alarm.State, about, "the record of this node's lists was not written, so a list removed from the config may stay in force: "+err.Error())
		return
	}
	l.alarms.Ends(alarm.State, about)
}
