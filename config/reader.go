package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"edgeguard/config/address"
	"edgeguard/config/document"
	"edgeguard/rules"
)

// maxNodes bounds what is read, each alias counted as its value.
const maxNodes = 100_000

// place is a position in a file.
type place struct{ line, column int }

// reader goes through one file and collects what is wrong with it.
type reader struct {
	file               string
	problems, warnings []Problem
	places             map[string]place           // of every value that was read, by path
	bad                map[string]bool            // paths that have a problem already
	thinned            map[string]bool            // lists with a bad item
	listens            map[address.Address]string // who listens where, by path
	lines              []string                   // of the file
	anchors            map[string]ast.Node        // the values of aliases
	lookup             func(name string) (value string, set bool)
	variables          map[string]string // the texts of the file that were expanded, by path
	shipped            []shippedRule     // of presets
	own                int               // how many rules are the file's own; those of presets follow
	nodes              int
}

func newReader(file string) *reader {
	return &reader{
		file:    file,
		places:  make(map[string]place),
		bad:     make(map[string]bool),
		thinned: make(map[string]bool),
		listens: make(map[address.Address]string),
		anchors: make(map[string]ast.Node),
		lookup:  os.LookupEnv, variables: make(map[string]string),
	}
}

func (r *reader) wrong(at place, path, text, fix string) {
	r.bad[path] = true
	if parent, ok := parentOf(path); ok && strings.HasSuffix(path, "]") {
		r.thinned[parent] = true
	}
	r.problems = append(r.problems, Problem{r.file, at.line, at.column, path, text, fix})
}

func (r *reader) warn(at place, path, text, fix string) {
	r.warnings = append(r.warnings, Problem{r.file, at.line, at.column, path, text, fix})
}

// document parses a file to its one mapping; false if there is none, which is
// no problem where the file is empty.
func (r *reader) document(data []byte) (node, bool) {
	r.lines = strings.Split(string(data), "\n")
	tree, p := document.Parse(data)
	if p != nil {
		r.wrong(place{p.Line, p.Column}, "", p.Text, p.Fix)
	}
	if tree.Body == nil {
		return node{}, false
	}
	maps.Copy(r.anchors, tree.Anchors)
	return r.node(tree.Body, ""), true
}

// compile compiles the rules and adds a place to their problems. It leaves out
// what only follows from a problem that was found while reading.
func (r *reader) compile(specs []rules.Spec) *rules.Set {
	set, problems := rules.Compile(specs)
	for _, p := range problems {
		path := join(r.rulePath(p.Rule), p.Path)
		if alone, ok := strings.CutSuffix(path, "[0]"); ok && !r.known(path) {
			path = alone // a value that was written without a list around it
		}
		if !r.follows(path) {
			r.wrong(r.within(r.placeOf(path), specs[p.Rule].When, p.Offset), path, p.Text, p.Fix)
		}
	}
	return set
}

// within returns the place so many characters into a text that begins at a place.
// Where the file has the text in another form (over several lines, with
// escapes, as an alias), it is that of the beginning.
func (r *reader) within(at place, text string, offset int) place {
	if offset == 0 || at.line < 1 || at.line > len(r.lines) {
		return at
	}
	line := []rune(r.lines[at.line-1])
	begin := at.column - 1
	if begin < len(line) && (line[begin] == '"' || line[begin] == '\'') {
		begin++
	}
	if begin >= len(line) || !strings.HasPrefix(string(line[begin:]), text) {
		return at
	}
	return place{at.line, begin + offset + 1}
}

// follows reports whether a problem at path only repeats an earlier one.
func (r *reader) follows(path string) bool {
	if r.thinned[path] {
		return true
	}
	for ok := true; ok; path, ok = parentOf(path) {
		if r.bad[path] {
			return true
		}
	}
	return false
}

func (r *reader) known(path string) bool {
	_, ok := r.places[path]
	return ok
}

// placeOf returns the place of a path, or of the nearest that encloses it.
func (r *reader) placeOf(path string) place {
	for ok := true; ok; path, ok = parentOf(path) {
		if at, known := r.places[path]; known {
			return at
		}
	}
	return place{}
}

// parentOf cuts the last field or index off a path.
func parentOf(path string) (string, bool) {
	end := strings.LastIndexAny(path, ".[")
	if end <= 0 {
		return "", false
	}
	return path[:end], true
}

// node returns the value at path, with anchors, aliases and tags seen through.
func (r *reader) node(value ast.Node, path string) node {
	at := placeOf(value)
	for range document.MaxNesting {
		switch v := value.(type) {
		case *ast.AnchorNode:
			value = v.Value
		case *ast.AliasNode:
			name := v.Value.GetToken().Value
			if value = r.anchors[name]; value == nil {
				r.wrong(at, path, fmt.Sprintf("the alias %q has no anchor", clip(name)), "write the value out")
				return node{r, nil, path, at}
			}
		default:
			r.places[path] = at
			return node{r, value, path, at}
		}
	}
	r.wrong(at, path, "the alias refers to itself", "write the value out")
	return node{r, nil, path, at}
}

// placeOf returns the place of a value's first letter.
func placeOf(value ast.Node) place {
	line, column := document.Place(value)
	return place{line, column}
}

// sorted orders problems by their place.
func sorted(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return problems
}
