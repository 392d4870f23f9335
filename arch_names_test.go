package edgeguard_test

import (
	"go/ast"
	"go/token"
	"testing"
)

// sharedNames are the exported type names that every package may have: the
// package's name says whose they are.
var sharedNames = map[string]string{
	"Config":  "what a package's New takes",
	"Env":     "what a package of commands is given by the program",
	"Options": "what a package's New takes",
	"Result":  "what a package's Run gives",
	"Stats":   "what a package counts of itself",
}

// homonyms lists the rooms, and the types of a room, that may have a name of a
// package that they import.
var homonyms = map[string]string{
	"admin":           "the API's form of the product's words",
	"snapshot":        "the file's form of them",
	"attack.Crossing": "what an attack is made of: the same without its counts",
	"aggregator.Key":  "the fleet's form of it, with its meter",
	"detector.Table":  "what of it may be read from outside",
	"replay.Fleet":    "the fleet that a replay plays, and the one that `fleet status` finds",
	"logline.Reason":  "why a line is no event, and why a request is in no count: both a line's fate",
	"node.Generation": "what of it may be read",
	"tuning.Meter":    "what a history knows of it",
}

// exported is one exported type.
type exported struct {
	name string
	view bool // an interface or an alias: it may be named after what it shows
}

// TestNames finds two exported types of one name where one package imports the
// other: a reader of the importing file would have to look up which is meant.
func TestNames(t *testing.T) {
	types, imports := map[string]map[string]exported{}, map[string]map[string]bool{}
	for _, s := range house(t) {
		if imports[s.pkg] == nil {
			imports[s.pkg], types[s.pkg] = map[string]bool{}, map[string]exported{}
		}
		for _, spec := range s.Imports {
			if folder, isOurs := ourFolder(spec); isOurs {
				imports[s.pkg][folder] = true
			}
		}
		for _, one := range exportedTypes(s.File) {
			types[s.pkg][one.name] = one
		}
	}
	met := map[string]bool{}
	for pkg, all := range imports {
		for imported := range all {
			for name, one := range types[pkg] {
				if _, both := types[imported][name]; !both || one.view || sharedNames[name] != "" {
					continue
				}
				room, pair := top(pkg), top(pkg)+"."+name
				met[room], met[pair] = true, true
				if homonyms[room] == "" && homonyms[pair] == "" {
					t.Errorf("%s.%s meets the %s of %s, which it imports: rename one of the two, or list %s with a reason", pkg, name, name, imported, pair)
				}
			}
		}
	}
	for name := range homonyms {
		if !met[name] {
			t.Errorf("%s meets no other: take it off the list", name)
		}
	}
}

func exportedTypes(f *ast.File) (all []exported) {
	for _, d := range f.Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			continue
		}
		for _, spec := range d.Specs {
			spec := spec.(*ast.TypeSpec)
			if _, isInterface := spec.Type.(*ast.InterfaceType); spec.Name.IsExported() {
				all = append(all, exported{name: spec.Name.Name, view: isInterface || spec.Assign.IsValid()})
			}
		}
	}
	return all
}
