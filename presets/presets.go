// Package presets has the rules that edgeguard ships as text. Each preset has one file
// for each version, with its evidence as comments.
//
// A version that was released does not change and is not removed, and a name
// without a version is the oldest one. So an upgrade changes no rule that is in
// force; see docs/adr/0030. Package config reads the files: this one does not know
// what a rule is.
package presets

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"edgeguard/internal/nearest"
)

//go:embed shipped/*.yaml
var shipped embed.FS

// Preset is one version of a named set of rules.
type Preset struct {
	Name    string
	Version int
	About   string // what it is for, in one sentence
	Text    string // the file: YAML with the field rules
}

// String returns the name with its version, such as "web@1".
func (p Preset) String() string { return fmt.Sprintf("%s@%d", p.Name, p.Version) }

// Shelf is all versions of all presets, by name and version.
type Shelf []Preset

// Shipped returns the presets of this program.
func Shipped() Shelf {
	files, _ := fs.Sub(shipped, "shipped") // the name is valid
	return Read(files)
}

// Read returns the presets of the files NAME@VERSION.yaml. Others are left out.
func Read(files fs.FS) Shelf {
	var all Shelf
	names, _ := fs.Glob(files, "*.yaml") // the pattern is valid
	for _, file := range names {
		name, number, ok := strings.Cut(strings.TrimSuffix(path.Base(file), ".yaml"), "@")
		version, err := strconv.Atoi(number)
		text, readErr := fs.ReadFile(files, file)
		if !ok || err != nil || readErr != nil {
			continue
		}
		p := Preset{Name: name, Version: version, Text: string(text)}
		head, _, _ := strings.Cut(p.Text, "\n")
		p.About = strings.TrimPrefix(head, "# "+p.String()+": ")
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Preset) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return all
}

// Names returns each preset's name once.
func (s Shelf) Names() []string {
	var names []string
	for _, p := range s {
		names = append(names, p.Name)
	}
	return slices.Compact(names)
}

// Newest returns the newest version of a preset that is on the shelf.
func (s Shelf) Newest(name string) Preset {
	var newest Preset
	for _, p := range s {
		if p.Name == name {
			newest = p
		}
	}
	return newest
}

// Later returns the newest version of a preset that is used by its name alone, if that is
// not the one that the name means.
func (s Shelf) Later(ref string) (newest Preset, ok bool) {
	newest = s.Newest(ref)
	meant, err := s.Find(ref)
	return newest, err == nil && newest.Version > meant.Version
}

// Find returns the preset that a config or a command means: "web@2" is that
// version, and "web" the oldest.
func (s Shelf) Find(ref string) (Preset, error) {
	name, number, pinned := strings.Cut(ref, "@")
	if !slices.Contains(s.Names(), name) {
		if near, ok := nearest.Name(name, s.Names()); ok {
			return Preset{}, fmt.Errorf("unknown preset %.40q; did you mean %s, or else one of %s?", name, near, strings.Join(s.Names(), ", "))
		}
		return Preset{}, fmt.Errorf("unknown preset %.40q; use %s", name, strings.Join(s.Names(), ", "))
	}
	var versions []string
	for _, p := range s {
		if p.Name != name {
			continue
		}
		if !pinned || number == strconv.Itoa(p.Version) {
			return p, nil
		}
		versions = append(versions, p.String())
	}
	return Preset{}, fmt.Errorf("the preset %s has no version %.20q; use %s", name, number, strings.Join(versions, ", "))
}
