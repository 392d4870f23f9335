package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/config"
	"edgeguard/setup"
)

// names looks at the folder of enforce.names, and whether nginx by its configuration, which
// begins at one of these places, finds what is in it.
func (x *examination) names(c *config.Config, places []setup.Place) {
	n := c.Enforce.Names
	if n == nil {
		return
	}
	about := "names " + n.Folder
	x.folder(about, filepath.Dir(n.Folder))
	for folder := n.Folder; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if info, err := os.Stat(folder); err == nil && info.Mode().Perm()&0o001 == 0 {
			x.note(wrong, about, "a proxy of another user finds no name behind %s (mode %04o), so all requests pass: chmod o+x %s", folder, info.Mode().Perm(), folder)
		}
	}
	if _, err := os.Stat(n.Folder); errors.Is(err, fs.ErrNotExist) {
		x.note(doubt, about, "%s does not exist: the node makes it, and until then all requests pass", n.Folder)
	}
	if !slices.ContainsFunc(c.Enforce.Files, func(f config.ListFile) bool { return f.Wide }) {
		x.note(doubt, about, "no list has holds: wide, so blocks wider than /24 or /56, and of single IPv6 addresses, are refused by nothing beside it")
	}
	for _, place := range places {
		found, err := setup.FindLogs(place, command.ProxyFiles{})
		if place.Proxy != "nginx" || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			x.note(doubt, about, "nginx's configuration is not read: %v", err)
		}
		missed := found.NamesMissed(n.Folder)
		for _, why := range missed {
			x.note(doubt, about, "%s", why)
		}
		if err == nil && len(missed) == 0 {
			x.note(fine, about, "each server block of %s looks into it", place.File)
		}
	}
}
