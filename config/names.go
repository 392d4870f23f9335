package config

import (
	"cmp"
	"slices"

	"edgeguard/config/key"
	"edgeguard/config/yaml"
)

// NamesFolder is a folder with a file for each blocked address.
type NamesFolder struct {
	Folder string
	Most   int
}

// The folder is on a tmpfs, and kept while edgeguard is stopped. Each name is an inode
// there, of which /run has some 800,000.
const (
	defaultNames = "/run/edgeguard/names"
	usualNames   = 500_000
	mostNames    = 16_000_000
)

func newNames() *NamesFolder { return &NamesFolder{Folder: defaultNames, Most: usualNames} }

func (s *NamesFolder) entry() Entry { return Entry{copies: "the folder " + s.Folder, Files: listFiles} }

func (s *NamesFolder) keys() key.List {
	return key.List{
		key.Path("folder", &s.Folder, "edgeguard's own folder on a tmpfs, into which the proxy's user may look. It is made where missing"),
		key.Whole("most", &s.Most, 1, mostNames, "files in it; `edgeguard status` counts blocks beyond as withheld"),
	}
}

func readNames(n yaml.Node) *NamesFolder {
	s := newNames()
	s.keys().Read(n)
	s.Folder = cmp.Or(s.Folder, defaultNames)
	return s
}

// checkWide says what is wrong with lists of what names cannot hold.
func (s *Enforcers) checkWide(n yaml.Node) {
	i := slices.IndexFunc(s.Files, func(f ListFile) bool { return f.Wide })
	if i >= 0 && s.Names == nil && !n.Touched("names") {
		n.Wrong("has a list that holds wide blocks only, and no names for the others", "add names, or remove holds")
	}
}
