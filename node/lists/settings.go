package lists

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/enforce/names"
	"edgeguard/enforce/nftables"
)

// listOf is one enforcer of the config. A new kind of enforcer is a case of
// listsOf.
type listOf struct {
	key, name string // key is all of its settings
	make      func() (enforce.Enforcer, error)
	part      part
	wanted    ListSources // which imported blocks it gets; [ownOnly] where the list leaves this host
	// owned is what to empty when the config no longer has the list, none for
	// one that ends by itself.
	owned []enforce.Owned
}

// listsOf returns the enforcers of a config.
func listsOf(c *config.Config, deps CloudDeps) (all []listOf) {
	if n := c.Enforce.Names; n != nil {
		all = append(all, folderList(n, deps.Now, deps.LeftOut))
	}
	for _, f := range c.Enforce.Files {
		fc, err := settings(f)
		l := fileList(fmt.Sprintf("file %+v", f), f.File, fc, f.KeepRemoved, err)
		if f.Wide {
			l.part = wide
		}
		all = append(all, l)
	}
	if h := c.Enforce.HAProxy; h != nil {
		fc := enforce.FileConfig{Path: h.ACL, Format: enforce.FormatHAProxy, Socket: h.Socket, Every: h.Every}
		if h.Map != "" {
			fc.Path, fc.Format = h.Map, enforce.FormatHAProxyMap
		}
		all = append(all, fileList(fmt.Sprintf("haproxy %+v", *h), "haproxy "+h.Socket, fc, h.KeepRemoved, nil))
	}
	if n := c.Enforce.NFTables; n != nil {
		all = append(all, tableList(n))
	}
	for _, w := range WantedClouds(c, deps) {
		all = append(all, listOf{key: w.Key, name: w.Name, make: w.Make, wanted: ownOnly, owned: w.Owned})
	}
	return all
}

// tableFormat says in the record that a list is a table of the packet filter.
const tableFormat = "nftables"

// tableList returns a table of the packet filter.
func tableList(n *config.NFTables) listOf {
	name := "nftables " + n.Table
	c := nftables.Config{Table: n.Table, Device: n.Device, Forward: n.Forward, SparePorts: n.SparePorts, DryRun: n.DryRun}
	return listOf{
		key: fmt.Sprintf("nftables %+v", *n), name: name,
		make:  func() (enforce.Enforcer, error) { return nftables.New(c) },
		owned: []enforce.Owned{{Path: name, File: name, Format: tableFormat, Name: n.Table}},
	}
}

// Empty empties a recorded list: of a table, nothing is left.
func Empty(ctx context.Context, now time.Time, o *enforce.Owned) error {
	switch {
	case o.Format == namesFormat:
		return names.Clear(ctx, o.Path, false)
	case IsTable(o):
		return nftables.Clear(ctx, o.Name)
	case IsCloud(o):
		return emptyCloud(ctx, o)
	}
	return o.Empty(ctx, now)
}

// Gone reports whether a recorded list is not there any more, as far as can be seen
// without asking the program that holds it.
func Gone(o *enforce.Owned) bool {
	_, err := os.Lstat(o.Path)
	return errors.Is(err, fs.ErrNotExist) && o.Socket == "" && !IsTable(o) && !IsCloud(o)
}

// IsTable reports whether a recorded list is a table of the kernel's packet filter.
func IsTable(o *enforce.Owned) bool { return o.Format == tableFormat }

// fileList returns a list in a file or in HAProxy; err is what is wrong with its
// settings.
func fileList(key, name string, c enforce.FileConfig, keep bool, err error) listOf {
	if err != nil {
		return listOf{key: key, name: name, make: func() (enforce.Enforcer, error) { return nil, err }}
	}
	return listOf{key: key, name: name, owned: []enforce.Owned{enforce.NewOwned(c, keep)}, make: func() (enforce.Enforcer, error) { return enforce.NewFile(c) }}
}

// CheckFile returns what is wrong with a list's settings that package config
// cannot find. It opens nothing.
func CheckFile(f config.ListFile) error {
	fc, err := settings(f)
	if err == nil {
		_, err = enforce.NewFile(fc)
	}
	return err
}

// settings returns a list's settings for package enforce.
func settings(f config.ListFile) (enforce.FileConfig, error) {
	format, err := enforce.ParseFormat(f.Format)
	return enforce.FileConfig{Path: f.File, Format: format, Name: f.Name, Kernel: f.Kernel, Reload: f.Reload, Every: f.Every}, err
}

// Owned returns the record of each list of a config that does not end by itself.
func Owned(c *config.Config) []enforce.Owned { return owned(listsOf(c, CloudDeps{})) }

func owned(all []listOf) (owned []enforce.Owned) {
	for _, l := range all {
		owned = append(owned, l.owned...)
	}
	return owned
}
