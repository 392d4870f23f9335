package yaml

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"edgeguard/internal/nearest"
)

// Node is a value of the file, with its path and place. The zero value is none.
type Node struct {
	f    *File
	ast  ast.Node // nil for one that has a problem already
	path string
	at   place
	more []Node // what further pieces of the file have in its place
}

// Fields says how each field of a mapping is read.
type Fields map[string]func(Node)

// NotSupported reads a field that is known and not there yet.
func NotSupported(n Node) {
	n.Wrong("is not supported in this version", "remove it")
}

// Given reports whether there is a value.
func (n Node) Given() bool { return n.f != nil }

// Path returns where in the file the value is.
func (n Node) Path() string { return n.path }

// IsList reports whether the value is written as a list.
func (n Node) IsList() bool {
	_, is := n.ast.(*ast.SequenceNode)
	return is || slices.ContainsFunc(n.more, Node.IsList)
}

// IsMapping reports whether the value is a mapping.
func (n Node) IsMapping() bool {
	_, is := n.entries()
	return is || slices.ContainsFunc(n.more, Node.IsMapping)
}

// IsEmpty reports whether the value is a mapping without a field.
func (n Node) IsEmpty() bool {
	entries, is := n.entries()
	return is && len(entries) == 0
}

// Wrong notes what is wrong with the value.
func (n Node) Wrong(text, fix string) { n.f.wrong(n.at, n.path, text, fix) }

// WrongField is Wrong for a field of the value.
func (n Node) WrongField(name, text, fix string) { n.f.Wrong(JoinPath(n.path, name), text, fix) }

// Warn notes that the value may not do what its author expects.
func (n Node) Warn(text, fix string) { n.f.warn(n.at, n.path, text, fix) }

// Has reports whether the file has a field of the value.
func (n Node) Has(name string) bool { return n.f.Known(JoinPath(n.path, name)) }

// Touched reports whether the value, or one of these fields of it, has a problem, so
// that its absence need not be reported.
func (n Node) Touched(names ...string) bool { return n.f.Touched(n.path, names...) }

// Thinned reports whether a list in a field of the value has a bad item.
func (n Node) Thinned(name string) bool { return n.f.thinned[JoinPath(n.path, name)] }

// Elsewhere says where the value at another path is, if that is in another piece of the file.
func (n Node) Elsewhere(path string) string { return n.f.Elsewhere(path, n.path) }

// Once refuses what further pieces have of a value that can stand in one only.
func (n Node) Once() {
	for _, again := range n.more {
		again.Wrong("is given twice, "+n.f.first(n.at, again.at), "remove one of them")
	}
}

// alone is within for a value that can stand in one piece only.
func (n Node) alone() bool {
	n.Once()
	return n.within()
}

// within counts the values read, aliases as often as they are used.
func (n Node) within() bool {
	if n.ast == nil {
		return false
	}
	n.f.nodes++
	if n.f.nodes == maxNodes {
		n.Wrong("expands to too many values", "use fewer aliases")
	}
	return n.f.nodes < maxNodes
}

// fieldsOf is what a mapping is called in an error.
const fieldsOf = "a mapping of fields"

// Mapping reads a mapping by its fields, and refuses any other.
func (n Node) Mapping(known Fields) {
	var order []string
	given := make(map[string]Node)
	for _, part := range append([]Node{n}, n.more...) {
		part.fields(known, func(name string, field Node) {
			first, again := given[name]
			if !again {
				order = append(order, name)
				given[name] = field
				return
			}
			first.more = append(first.more, field)
			given[name] = first
			n.f.places[field.path] = first.at
		})
	}
	for _, name := range order {
		known[name](given[name])
	}
}

// fields hands on each field of one piece's mapping that is known, and refuses the others.
func (n Node) fields(known Fields, to func(name string, field Node)) {
	if !n.within() {
		return
	}
	entries, ok := n.entries()
	if !ok {
		n.WrongType(fieldsOf)
		return
	}
	seen := make(map[string]place)
	for i, entry := range entries {
		if part(entry) && i > 0 && n.cutShort(entries[i-1:]) {
			continue
		}
		at := placeOf(entry.Key)
		if _, merge := entry.Key.(*ast.MergeKeyNode); merge {
			n.f.wrong(at, n.path, "<< is not supported", "write the fields out")
			continue
		}
		name := entry.Key.GetToken().Value
		path := JoinPath(n.path, name)
		if first, twice := seen[name]; twice {
			n.f.wrong(at, path, "is given twice, "+n.f.first(first, at), "remove one of them")
			continue
		}
		seen[name] = at
		if _, ok := known[name]; !ok {
			n.unknown(at, name, known)
			continue
		}
		field := n.f.node(entry.Value, path)
		if !hasOwnPlace(field.ast) {
			field.at = at
			n.f.places[path] = at
		}
		to(name, field)
	}
}

// part reports whether an entry is the rest of a number with a comma in it: braces make
// `threshold: 2, 000: null` of `threshold: 2,000`.
func part(entry *ast.MappingValueNode) bool {
	_, null := entry.Value.(*ast.NullNode)
	return null && entry.Key.GetToken() != nil && strings.Trim(entry.Key.GetToken().Value, "0123456789") == "" && entry.Key.GetToken().Value != ""
}

// cutShort reports whether entries begin with a number or another part of one, whose rest
// follows. The number's own problem says what was meant: to remove the rest, as for
// another unknown field, would leave a thousandth of it.
func (n Node) cutShort(entries []*ast.MappingValueNode) bool {
	first := entries[0]
	if part(first) {
		return true
	}
	value := first.Value.GetToken().Value
	if _, whole := first.Value.(*ast.IntegerNode); !whole {
		return false
	}
	meant := value
	for _, rest := range entries[1:] {
		if !part(rest) {
			break
		}
		if digits := rest.Key.GetToken().Value; len(digits) == 3 {
			meant += digits
		} else {
			meant += "." + digits
		}
	}
	path := JoinPath(n.path, first.Key.GetToken().Value)
	n.f.wrong(placeOf(first.Value), path, "got "+Clip(value), "a comma ends a value here: write "+Clip(meant))
	return true
}

// hasOwnPlace reports whether a field's value is where a problem with it is
// best shown. That of a list or a mapping is shown at the field's name.
func hasOwnPlace(value ast.Node) bool {
	if _, isNull := value.(*ast.NullNode); isNull {
		return false
	}
	_, isScalar := value.(ast.ScalarNode)
	return isScalar
}

// entries returns a mapping's entries.
func (n Node) entries() ([]*ast.MappingValueNode, bool) {
	v, ok := n.ast.(*ast.MappingNode)
	if !ok {
		return nil, false
	}
	return v.Values, true
}

// unknown refuses a field. What it was meant to be is not asked for again.
func (n Node) unknown(at place, name string, known Fields) {
	names := slices.Sorted(maps.Keys(known))
	fix := "remove it"
	if near, ok := nearest.Name(name, names); ok {
		fix = fmt.Sprintf("did you mean %q?", near)
		n.f.bad[JoinPath(n.path, near)] = true
	}
	n.f.wrong(at, JoinPath(n.path, Clip(name)), "unknown field", fix)
}

// List reads each item of a list. A value that is not a list is a list of itself.
func (n Node) List(read func(Node)) {
	if len(n.more) == 0 {
		n.items(read, n.path, 0)
		return
	}
	next := 0
	for _, part := range append([]Node{n}, n.more...) {
		part.more = nil
		next = part.items(read, ItemPath(n.path, next), next)
	}
}

// items reads the items of one piece's list, which are counted from first, or its one
// value, which is known by the path alone. It returns the index of the next piece's first.
func (n Node) items(read func(Node), alone string, first int) (next int) {
	sequence, ok := n.ast.(*ast.SequenceNode)
	switch _, empty := n.ast.(*ast.NullNode); {
	case empty:
		n.WrongType("a list")
		return first
	case !ok:
		n.path = alone
		n.f.places[alone] = n.at
		read(n)
		return first + 1
	case !n.within():
		return first
	}
	for i, value := range sequence.Values {
		read(n.f.node(value, ItemPath(n.path, first+i)))
	}
	return first + len(sequence.Values)
}

// WrongType reports what is expected and what is there.
func (n Node) WrongType(want string) {
	if v, ok := n.ast.(*ast.StringNode); ok && !n.plain(v.Value) {
		return
	}
	n.Wrong("expected "+want+", got "+describe(n.ast), fixType(n.ast, want))
}

// describe names a value's type, and the value if it is short.
func describe(value ast.Node) string {
	switch v := value.(type) {
	case *ast.NullNode:
		return "nothing"
	case *ast.MappingNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		return fmt.Sprintf("the text %q", Clip(v.Value))
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		return Clip(v.GetToken().Value)
	}
	return "something else"
}

func fixType(value ast.Node, want string) string {
	switch v := value.(type) {
	case *ast.NullNode:
		return "give it a value, or remove it"
	case *ast.MappingNode:
		return "change it, or put it in quotes if it is text with a colon"
	case *ast.SequenceNode:
		return "write one here, not a list of them"
	case *ast.BoolNode:
		if want == fieldsOf {
			return "write its fields below it, a line each, or {} where it needs none"
		}
	case *ast.StringNode:
		if kind := v.GetToken().Type; kind == token.SingleQuoteType || kind == token.DoubleQuoteType {
			return "write " + want + ", without quotes"
		}
	}
	return "write " + want
}

// Clip shortens what a message repeats.
func Clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
