package lists

import (
	"fmt"

	"edgeguard/config"
	"edgeguard/config/enforcers"
	"edgeguard/enforce"
)

// listOf is one enforcer of the config. A new kind of enforcer is a case of
// listsOf.
type listOf struct {
	key, name string // key is all of its settings
	make      func() (enforce.Enforcer, error)
	// owned is what to empty when the config no longer has the list, nil for
	// one that ends by itself.
	owned *enforce.Owned
}

// listsOf returns the enforcers of a config.
func listsOf(c *config.Config) (all []listOf) {
	for _, f := range c.Enforce.Files {
		fc, err := settings(f)
		all = append(all, fileList(fmt.Sprintf("file %+v", f), f.File, fc, f.KeepRemoved, err))
	}
	if h := c.Enforce.HAProxy; h != nil {
		fc := enforce.FileConfig{Path: h.ACL, Format: enforce.FormatHAProxy, Socket: h.Socket, Every: h.Every}
		if h.Map != "" {
			fc.Path, fc.Format = h.Map, enforce.FormatHAProxyMap
		}
		all = append(all, fileList(fmt.Sprintf("haproxy %+v", *h), "haproxy "+h.Socket, fc, h.KeepRemoved, nil))
	}
	return all
}

// fileList returns a list in a file or in HAProxy; err is what is wrong with its
// settings.
func fileList(key, name string, c enforce.FileConfig, keep bool, err error) listOf {
	if err != nil {
		return listOf{key: key, name: name, make: func() (enforce.Enforcer, error) { return nil, err }}
	}
	owned := enforce.Own(c, keep)
	return listOf{key: key, name: name, owned: &owned, make: func() (enforce.Enforcer, error) { return enforce.NewFile(c) }}
}

// CheckFile returns what is wrong with a list's settings that package config
// cannot find. It opens nothing.
func CheckFile(f enforcers.ListFile) error {
	fc, err := settings(f)
	if err == nil {
		_, err = enforce.NewFile(fc)
	}
	return err
}

// settings returns a list's settings for package enforce.
func settings(f enforcers.ListFile) (enforce.FileConfig, error) {
	format, err := enforce.ParseFormat(f.Format)
	return enforce.FileConfig{Path: f.File, Format: format, Name: f.Name, Kernel: f.Kernel, Reload: f.Reload, Every: f.Every}, err
}

// Owned returns the record of each list of a config that does not end by itself.
func Owned(c *config.Config) []enforce.Owned { return owned(listsOf(c)) }

func owned(all []listOf) (owned []enforce.Owned) {
	for _, l := range all {
		if l.owned != nil {
			owned = append(owned, *l.owned)
		}
	}
	return owned
}
