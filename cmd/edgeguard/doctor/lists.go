package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/node/lists"
)

// leftLists looks for lists that are no longer updated: those that this node's state
// records, or that begin as edgeguard's do, and that the config does not have.
// The addresses in them stay blocked.
func (x *examination) leftLists(c *config.Config) {
	kept, folders := listPaths(c)
	owned, err := enforce.LoadOwned(filepath.Join(c.State, enforce.OwnedName))
	if c.State != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.note(doubt, "lists", "%v", err)
	}
	for _, w := range lists.WantedClouds(c, lists.CloudDeps{}) {
		for _, o := range w.Owned {
			kept[o.File] = true
		}
	}
	for _, o := range owned {
		if lists.IsCloud(&o) && !kept[o.File] {
			x.note(doubt, o.Path, "not in the config, and its entries do not end: the addresses in it stay blocked until a node with this config starts or reloads, which empties it, or edgeguard enforce empty does")
		}
		if kept[o.File] || !filepath.IsAbs(o.File) {
			continue // the second is no file: a table of the packet filter, or HAProxy's own
		}
		kept[o.File] = true
		folders = append(folders, filepath.Dir(o.File))
		if _, err := os.Lstat(o.File); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if o.Keep {
			x.note(doubt, "list "+o.File, "no longer updated (on_remove: keep), so the addresses in it stay blocked: delete it if it is not needed")
		} else {
			x.note(doubt, "list "+o.File, "not in the config, so the addresses in it stay blocked until a node with this config starts or reloads, which empties it")
		}
	}
	slices.Sort(folders)
	for _, folder := range slices.Compact(folders) {
		for _, file := range enforce.Written(folder) {
			if !kept[file] {
				x.note(doubt, "list "+file, "written by edgeguard and no longer updated, unless another instance does: the addresses in it stay blocked; delete it if it is not needed")
			}
		}
	}
}

// listPaths returns the files of the config's lists, through symbolic links, and
// the folders where others may lie.
func listPaths(c *config.Config) (files map[string]bool, folders []string) {
	files = make(map[string]bool)
	add := func(path string) {
		file := enforce.NewOwned(enforce.FileConfig{Path: path}, false).File
		files[file] = true
		folders = append(folders, filepath.Dir(file))
	}
	for _, f := range c.Enforce.Files {
		add(f.File)
	}
	if n := c.Enforce.Names; n != nil {
		add(n.Folder)
	}
	if h := c.Enforce.HAProxy; h != nil {
		add(h.ACL + h.Map) // one of them is empty
	}
	if c.State != "" {
		folders = append(folders, c.State)
	}
	return files, folders
}
