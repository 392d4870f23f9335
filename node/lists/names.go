package lists

import (
	"fmt"
	"net/netip"
	"time"

	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/enforce/names"
	"edgeguard/enforce/nftables"
)

// A folder of names cannot hold every block: a list beside it has the others.

// part says which blocks a list holds.
type part int

const (
	whole  part = iota
	narrow      // what can be names
	wide        // all but what the folder of names holds
)

// namesFormat says in the record that a list is a folder of names.
const namesFormat = "names"

// folderList returns a folder of names.
func folderList(n *config.NamesFolder, now func() time.Time, leftOut func()) listOf {
	name := "names " + n.Folder
	c := names.Config{Path: n.Folder, Most: n.Most, Now: now, LeftOut: leftOut}
	o := enforce.NewOwned(enforce.FileConfig{Path: n.Folder}, false)
	o.Format = namesFormat
	return listOf{
		key: fmt.Sprintf("names %+v", *n), name: name, part: narrow, owned: []enforce.Owned{o},
		make: func() (enforce.Enforcer, error) { return names.New(c), nil },
	}
}

// refreshWide has the list beside the folder of names written again, since that has no room for
// what it had, or has it again.
func (e *Lists) refreshWide() {
	for _, f := range e.running.All() {
		if f.part == wide {
			f.runner.Refresh()
		}
	}
}

// partOf returns which blocks are of a part now; nil means all. An operator's pause is of both
// parts, too.
func (e *Lists) partOf(p part) func(netip.Prefix) bool {
	switch {
	case p != whole && e.trial.StatusAt(e.config.Now()).State == nftables.Paused:
		return func(netip.Prefix) bool { return false }
	case p == narrow:
		return names.Fits
	case p == wide:
		held := names.Fits
		for _, f := range e.running.All() {
			if folder, ok := f.list.(*names.Folder); ok {
				held = folder.Refuses()
			}
		}
		return func(p netip.Prefix) bool { return !held(p) }
	}
	return nil
}
