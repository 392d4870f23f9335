package edgeguard_test

import (
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"
)

// sharedNames are the exported type names that every package may have: the
// package's name says whose they are.
var sharedNames = map[string]string{
	"Config":  "what a package's New takes",
	"Options": "what a package's New takes",
	"Stats":   "what a package counts of itself",
}

// homonyms lists the pairs that may share a name although one imports the
// other. The importing package comes first.
var homonyms = map[[2]string]string{
	{"admin.Block", "edgeguard.Block"}:           "the API's form of it",
	{"admin.Evidence", "edgeguard.Evidence"}:     "the API's form of it",
	{"outcome.Bucket", "tuning.Bucket"}:          "the API's form of it",
	{"admin.Event", "edgeguard.Event"}:           "the stream's word (server-sent events); an API client never sees the other",
	{"outcome.Gap", "tuning.Gap"}:                "the API's form of it",
	{"outcome.Outcome", "tuning.Outcome"}:        "the API's form of it",
	{"outcome.Suggestion", "tuning.Suggestion"}:  "the API's form of it",
	{"admin.Top", "tuning.Top"}:                  "the API's answer, named by its command; it is filled from the other",
	{"admin.Uncounted", "edgeguard.Uncounted"}:   "the API's form of it",
	{"aggregator.Key", "edgeguard.Key"}:          "the fleet's form of it, with its meter",
	{"detector.Table", "shard.Table"}:            "what of it may be read from outside",
	{"replay.Fleet", "redis.Fleet"}:              "the fleet that a replay plays, and the one that `fleet status` finds",
	{"entry.Reason", "edgeguard.Reason"}:         "why a line is no event, and why a request is in no count: both a line's fate",
	{"status.Generation", "pipeline.Generation"}: "what of it may be read",
	{"snapshot.Block", "edgeguard.Block"}:        "the file's form of it",
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
	eachFile(t, func(_ *testing.T, file string, _ *token.FileSet, f *ast.File) {
		pkg := packageOf(file)
		if imports[pkg] == nil {
			imports[pkg], types[pkg] = map[string]bool{}, map[string]exported{}
		}
		for _, spec := range f.Imports {
			if folder, isOurs := ourFolder(spec); isOurs {
				imports[pkg][folder] = true
			}
		}
		for _, one := range exportedTypes(f) {
			types[pkg][one.name] = one
		}
	})
	used := map[[2]string]bool{}
	for pkg, all := range imports {
		for imported := range all {
			for name, one := range types[pkg] {
				if _, both := types[imported][name]; !both || one.view || sharedNames[name] != "" {
					continue
				}
				pair := [2]string{qualified(pkg, name), qualified(imported, name)}
				used[pair] = true
				if homonyms[pair] == "" {
					t.Errorf("%s imports %s: rename one of the two, or list the pair with a reason", pair[0], pair[1])
				}
			}
		}
	}
	for pair := range homonyms {
		if !used[pair] {
			t.Errorf("%s and %s do not meet any more: take the pair off the list", pair[0], pair[1])
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

// ourFolder returns the folder of an import of ours, "" for the root.
func ourFolder(spec *ast.ImportSpec) (folder string, isOurs bool) {
	imported, _ := strconv.Unquote(spec.Path.Value)
	rest, isOurs := strings.CutPrefix(imported, "edgeguard")
	if !isOurs || rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rest, "/"), true
}

func qualified(pkg, name string) string {
	if pkg == "" {
		pkg = "edgeguard"
	}
	return path.Base(pkg) + "." + name
}
