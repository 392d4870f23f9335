package yaml

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxNodes bounds what is read, each alias counted as its value.
const maxNodes = 100_000

// place is a position in a file. Where it has pieces, the lines of each are counted on
// from those before.
type place struct{ line, column int }

// piece is one of the texts of a file.
type piece struct {
	name    string
	before  int                 // how many lines precede its first
	anchors map[string]ast.Node // the values of its aliases
}

// File is one file that is read, with what is wrong with it. It may have further pieces, each
// a file of its own.
type File struct {
	pieces             []piece
	problems, warnings []Fault            // with lines of places
	places             map[string]place   // of every value that was read, by path
	bad                map[string]bool    // paths that have a problem already
	thinned            map[string]bool    // lists with a bad item
	listens            map[Address]string // who listens where, by path
	lines              []string           // of the file, and an empty one before each further piece
	variables          map[string]string  // the texts of the file that were expanded, by path
	nodes              int
}

// OpenFile returns a file of which nothing is read yet; name is what problems call it.
func OpenFile(name string) *File {
	return &File{
		pieces:    []piece{{name: name}},
		places:    make(map[string]place),
		bad:       make(map[string]bool),
		thinned:   make(map[string]bool),
		listens:   make(map[Address]string),
		variables: make(map[string]string),
	}
}

// Problems returns what is wrong, in the order of places.
func (f *File) Problems() []Fault { return f.sorted(f.problems) }

// Warnings returns what may not do what its author expects, in the order of places.
func (f *File) Warnings() []Fault { return f.sorted(f.warnings) }

// Variables returns the texts of the file that name variables of the environment, by
// the path of their field, without [0].
func (f *File) Variables() map[string]string { return f.variables }

// Wrong notes what is wrong with the value at a path, or with the nearest that
// encloses it.
func (f *File) Wrong(path, text, fix string) { f.wrong(f.placeOf(path), path, text, fix) }

// WrongInside is Wrong for what begins so many characters into the value's text.
func (f *File) WrongInside(path, value string, offset int, text, fix string) {
	f.wrong(f.within(f.placeOf(path), value, offset), path, text, fix)
}

// Warn notes that the value at a path may not do what its author expects.
func (f *File) Warn(path, text, fix string) { f.warn(f.placeOf(path), path, text, fix) }

func (f *File) wrong(at place, path, text, fix string) {
	f.bad[path] = true
	if parent, ok := ParentPath(path); ok && strings.HasSuffix(path, "]") {
		f.thinned[parent] = true
	}
	f.problems = append(f.problems, Fault{Line: at.line, Column: at.column, Path: path, Text: text, Fix: fix})
}

func (f *File) warn(at place, path, text, fix string) {
	f.warnings = append(f.warnings, Fault{Line: at.line, Column: at.column, Path: path, Text: text, Fix: fix})
}

// Document parses a file to its one mapping; false if there is none, which is
// no problem where the file is empty.
func (f *File) Document(data []byte) (Node, bool) {
	last := &f.pieces[len(f.pieces)-1]
	tree, p := parseBehind(last.before, data)
	f.lines = append(f.lines, strings.Split(string(data), "\n")...)
	for len(f.lines) < tree.last { // a carriage return alone ends a line, too
		f.lines = append(f.lines, "")
	}
	if p != nil {
		f.wrong(place{p.Line, p.Column}, "", p.Text, p.Fix)
	}
	if tree.Body == nil {
		return Node{}, false
	}
	last.anchors = tree.Anchors
	return f.node(tree.Body, ""), true
}

// Join adds a further piece, another file, to what was read of the pieces before: mappings
// join, lists append, and everything else may stand in one piece only. An empty piece adds
// nothing.
func (f *File) Join(root Node, name string, data []byte) Node {
	f.lines = append(f.lines, "") // its number is the place of the piece as a whole
	f.pieces = append(f.pieces, piece{name: name, before: len(f.lines)})
	next, ok := f.Document(data)
	switch {
	case !ok:
		return root
	case !root.Given():
		return next
	}
	root.more = append(root.more, next)
	return root
}

// pieceAt returns the piece in which a line is.
func (f *File) pieceAt(line int) int {
	for i := len(f.pieces) - 1; i > 0; i-- {
		if line >= f.pieces[i].before {
			return i
		}
	}
	return 0
}

// first says where the first of two places is, to be told at the second.
func (f *File) first(first, second place) string {
	i := f.pieceAt(first.line)
	p := &f.pieces[i]
	if i == f.pieceAt(second.line) {
		return fmt.Sprintf("first on line %d", first.line-p.before)
	}
	return fmt.Sprintf("first at %s:%d:%d", p.name, first.line-p.before, first.column)
}

// Elsewhere says where the first of two paths is, to be told at the second. It is empty where
// both are in one file.
func (f *File) Elsewhere(first, second string) string {
	a, b := f.placeOf(first), f.placeOf(second)
	if f.pieceAt(a.line) == f.pieceAt(b.line) {
		return ""
	}
	return ", " + f.first(a, b)
}

// Said returns which values each further piece has, by its name, in their order in it. Of a
// mapping or list that is in it alone, only the path is there.
func (f *File) Said() map[string][]string {
	in := func(path string) int { return f.pieceAt(f.places[path].line) }
	said := make(map[string][]string)
	byPlace := func(a, b string) int {
		return cmp.Or(cmp.Compare(f.places[a].line, f.places[b].line), cmp.Compare(f.places[a].column, f.places[b].column), cmp.Compare(a, b))
	}
	for _, path := range slices.SortedFunc(maps.Keys(f.places), byPlace) {
		parent, ok := ParentPath(path)
		if i := in(path); path != "" && i > 0 && (!ok || in(parent) != i) {
			said[f.pieces[i].name] = append(said[f.pieces[i].name], path)
		}
	}
	return said
}

// within returns the place so many characters into a text that begins at a place.
// Where the file has the text in another form (over several lines, with
// escapes, as an alias), it is that of the beginning.
func (f *File) within(at place, text string, offset int) place {
	if offset == 0 || at.line < 1 || at.line > len(f.lines) {
		return at
	}
	line := []rune(f.lines[at.line-1])
	begin := at.column - 1
	if begin < len(line) && (line[begin] == '"' || line[begin] == '\'') {
		begin++
	}
	if begin >= len(line) || !strings.HasPrefix(string(line[begin:]), text) {
		return at
	}
	return place{at.line, begin + offset + 1}
}

// Follows reports whether a problem at path only repeats an earlier one.
func (f *File) Follows(path string) bool {
	if f.thinned[path] {
		return true
	}
	for ok := true; ok; path, ok = ParentPath(path) {
		if f.bad[path] {
			return true
		}
	}
	return false
}

// Known reports whether the file has a value at a path.
func (f *File) Known(path string) bool {
	_, ok := f.places[path]
	return ok
}

// Touched reports whether the value at a path, or one of these fields of it, has a
// problem, so that its absence need not be reported.
func (f *File) Touched(path string, names ...string) bool {
	if f.bad[path] {
		return true
	}
	for _, name := range names {
		if f.bad[JoinPath(path, name)] {
			return true
		}
	}
	return false
}

// Settle marks a path as one that has a problem already, where another problem says
// what is wrong.
func (f *File) Settle(path string) { f.bad[path] = true }

// placeOf returns the place of a path, or of the nearest that encloses it.
func (f *File) placeOf(path string) place {
	for ok := true; ok; path, ok = ParentPath(path) {
		if at, known := f.places[path]; known {
			return at
		}
	}
	return place{}
}

// node returns the value at path, with anchors, aliases and tags seen through.
func (f *File) node(value ast.Node, path string) Node {
	at := placeOf(value)
	for range MaxNesting {
		switch v := value.(type) {
		case *ast.AnchorNode:
			value = v.Value
		case *ast.AliasNode:
			name := v.Value.GetToken().Value
			if value = f.pieces[f.pieceAt(at.line)].anchors[name]; value == nil {
				f.wrong(at, path, fmt.Sprintf("the alias %q has no anchor", Clip(name)), "write the value out")
				return Node{f: f, path: path, at: at}
			}
		default:
			f.places[path] = at
			return Node{f: f, ast: value, path: path, at: at}
		}
	}
	f.wrong(at, path, "the alias refers to itself", "write the value out")
	return Node{f: f, path: path, at: at}
}

// placeOf returns the place of a value's first letter.
func placeOf(value ast.Node) place {
	line, column := Place(value)
	return place{line, column}
}

// sorted orders problems by their place, and says of each in which file that is.
func (f *File) sorted(problems []Fault) []Fault {
	slices.SortStableFunc(problems, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	placed := slices.Clone(problems)
	for i := range placed {
		p := &f.pieces[f.pieceAt(placed[i].Line)]
		placed[i].File, placed[i].Line = p.name, placed[i].Line-p.before
	}
	return placed
}
