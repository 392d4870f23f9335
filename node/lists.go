package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"edgeguard/admin"
	"edgeguard/config"
	"edgeguard/enforce"
)

const (
	// After so many tries nobody is told any more that a list was emptied: who
	// read it may be gone as well.
	emptyTries = 5
	// mostPause is the longest time between two tries to empty a list.
	mostPause = time.Minute
)

// lists is the record of the lists that this node writes, in the state folder:
// what the config no longer has was put in force by it, and would stay so for
// ever. Safe for concurrent use.
type lists struct {
	path string // empty: remembered by this process only

	mu      sync.Mutex
	owned   []enforce.Owned
	unsaved bool
}

func newLists(folder string) *lists {
	l := &lists{}
	if folder != "" {
		l.path = filepath.Join(folder, enforce.OwnedName)
	}
	return l
}

// load reads the record. One that cannot be used is set aside.
func (l *lists) load() error {
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
		return fmt.Errorf("which lists are this node's is not known, and those that the config no longer has stay in force (see %s): %w", aside, err)
	}
	l.owned = owned
	return nil
}

// want records the lists of the config, before they are written, and gives those
// that are to be emptied: the config had them, and no longer has.
func (l *lists) want(now []enforce.Owned) (left []enforce.Owned, err error) {
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
			continue // somebody deleted what was kept
		}
		next = append(next, o)
		if !o.Keep {
			left = append(left, o)
		}
	}
	return left, l.set(next)
}

// forget strikes a list off the record.
func (l *lists) forget(gone enforce.Owned) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set(slices.DeleteFunc(slices.Clone(l.owned), func(o enforce.Owned) bool { return o.File == gone.File }))
}

// set replaces the record. It needs the lock.
func (l *lists) set(owned []enforce.Owned) error {
	l.unsaved = l.unsaved || len(owned)+len(l.owned) > 0
	l.owned = owned
	return l.save()
}

// save writes the record, if it has to be. It needs the lock.
func (l *lists) save() error {
	if l.path == "" || !l.unsaved {
		return nil
	}
	err := enforce.SaveOwned(l.path, l.owned)
	l.unsaved = err != nil
	return err
}

// retry writes a record that could not be written before.
func (l *lists) retry() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.save()
}

// listOf is one enforcer of the config as package enforce wants it.
type listOf struct {
	key, name string
	config    enforce.FileConfig
	keep      bool
	err       error
}

// listsOf gives the enforcers of a config.
func listsOf(c *config.Config) (all []listOf) {
	for _, f := range c.Enforce.Files {
		fc, err := fileConfig(f)
		all = append(all, listOf{fmt.Sprintf("file %+v", f), f.File, fc, f.KeepRemoved, err})
	}
	if h := c.Enforce.HAProxy; h != nil {
		fc := enforce.FileConfig{Path: h.ACL, Format: enforce.FormatHAProxy, Socket: h.Socket, Every: h.Every}
		if h.Map != "" {
			fc.Path, fc.Format = h.Map, enforce.FormatHAProxyMap
		}
		all = append(all, listOf{fmt.Sprintf("haproxy %+v", *h), "haproxy " + h.Socket, fc, h.KeepRemoved, nil})
	}
	return all
}

// emptying empties a list that the config no longer has: a service.
type emptying struct {
	node *Node
	list enforce.Owned
}

func (e *emptying) Key() string             { return fmt.Sprintf("empty %+v", e.list) }
func (e *emptying) Alarm() (string, string) { return alarmEnforcer, "list " + e.list.Path }
func (e *emptying) Report(*admin.Stats)     {}

// Run empties the list, and then has nothing left to do.
func (e *emptying) Run(ctx context.Context, _ func()) error {
	e.node.emptyList(ctx, e.list)
	<-ctx.Done()
	return nil
}

// leftLists gives what empties the lists that the config no longer has.
func (n *Node) leftLists(wanted []listOf) (all []*emptying) {
	var owned []enforce.Owned
	for _, w := range wanted {
		if w.err == nil {
			owned = append(owned, enforce.Own(w.config, w.keep))
		}
	}
	left, err := n.lists.want(owned)
	n.recorded(err)
	for _, o := range left {
		all = append(all, &emptying{node: n, list: o})
	}
	return all
}

// recorded tells whether the record of the lists was written.
func (n *Node) recorded(err error) {
	const about = "lists"
	if err != nil {
		n.alarms.begins(n.clock.Now(), alarmState, about, "which lists are this node's is not recorded, and one that leaves the config may stay in force: "+err.Error())
		return
	}
	n.alarms.ends(alarmState, about)
}

// emptyList empties a list that the config no longer has, and strikes it off the
// record; what cannot be emptied is an alarm, and tried again.
func (n *Node) emptyList(ctx context.Context, o enforce.Owned) {
	about := "list " + o.Path
	defer n.alarms.ends(alarmEnforcer, about)
	pausing := time.Second
	for try := 1; ; try++ {
		err := o.Empty(ctx, n.clock.Now())
		switch {
		case ctx.Err() != nil:
			return // it is still on the record
		case err == nil:
			n.log.Info("list emptied: the config no longer has it", "list", o.Path)
		case errors.Is(err, enforce.ErrInUse):
			n.log.Info("list left as it is: another edgeguard keeps it", "list", o.Path)
		case errors.Is(err, enforce.ErrNotOurs), errors.Is(err, enforce.ErrNotLoaded) && try >= emptyTries:
			n.alarms.happened(n.clock.Now(), alarmEnforcer, about+" is left", fmt.Sprintf(
				"the list %s is no longer in the config and is left as it is: %v: see that nobody reads it", o.Path, err))
		default:
			n.alarms.begins(n.clock.Now(), alarmEnforcer, about, fmt.Sprintf(
				"the list %s is no longer in the config, and cannot be emptied, so the addresses in it stay blocked: %v", o.Path, err))
			if !pause(ctx, pausing) {
				return
			}
			pausing = min(2*pausing, mostPause)
			continue
		}
		n.recorded(n.lists.forget(o))
		return
	}
}
