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

// names looks at the folder of enforce.names, and whether proxies by their configurations, which
// begin at these places, find what is in it.
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
	wide, anybody := slices.ContainsFunc(c.Enforce.Files, func(f config.ListFile) bool { return f.Wide }), false
	for _, place := range places {
		found, err := setup.FindLogs(place, command.ProxyFiles{})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		asked, missed := found.NamesMissed(n.Folder)
		anybody = anybody || asked
		for _, why := range missed {
			x.note(doubt, about, "%s", why)
		}
		if asked && len(missed) == 0 {
			x.note(fine, about, "%s has %s look into it", place.File, place.Proxy)
		}
		if asked && place.Proxy == "nginx" && !wide {
			x.note(doubt, about, "no list has holds: wide, so blocks wider than /24 or /56, and of single IPv6 addresses, are refused by nothing beside it")
		}
	}
	if !anybody {
		x.note(doubt, about, "no configuration of nginx or Caddy that was read looks into it: see edgeguard snippets nginx-names, caddy-names")
	}
}
