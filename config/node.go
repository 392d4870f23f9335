package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"edgeguard/internal/nearest"
)

// node is a value of the file, with its path and place.
type node struct {
	r    *reader
	ast  ast.Node // nil for one that has a problem already
	path string
	at   place
}

// fields says how each field of a mapping is read.
type fields map[string]func(node)

// comesLater reads a field that is known and not there yet.
func comesLater(n node) {
	n.wrong("is not supported in this version", "remove it")
}

func (n node) wrong(text, fix string) { n.r.wrong(n.at, n.path, text, fix) }

// notActedOn warns of a section that is read and checked only.
func (n node) notActedOn() {
	n.r.warn(n.at, n.path, "is checked but has no effect in this version", "no change is needed")
}

// within counts the values read, aliases as often as they are used.
func (n node) within() bool {
	if n.ast == nil {
		return false
	}
	n.r.nodes++
	if n.r.nodes == maxNodes {
		n.wrong("expands to too many values", "use fewer aliases")
	}
	return n.r.nodes < maxNodes
}

// mapping reads a mapping by its fields, and refuses any other.
func (n node) mapping(known fields) {
	if !n.within() {
		return
	}
	entries, ok := n.entries()
	if !ok {
		n.wrongType("a mapping of fields")
		return
	}
	seen := make(map[string]place)
	for _, entry := range entries {
		at := placeOf(entry.Key)
		if _, merge := entry.Key.(*ast.MergeKeyNode); merge {
			n.r.wrong(at, n.path, "<< is not supported", "write the fields out")
			continue
		}
		name := entry.Key.GetToken().Value
		path := join(n.path, name)
		if first, twice := seen[name]; twice {
			n.r.wrong(at, path, fmt.Sprintf("is given twice, first on line %d", first.line), "remove one of them")
			continue
		}
		seen[name] = at
		read, ok := known[name]
		if !ok {
			n.unknown(at, name, known)
			continue
		}
		field := n.r.node(entry.Value, path)
		if !hasOwnPlace(field.ast) {
			field.at = at
			n.r.places[path] = at
		}
		read(field)
	}
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
func (n node) entries() ([]*ast.MappingValueNode, bool) {
	v, ok := n.ast.(*ast.MappingNode)
	if !ok {
		return nil, false
	}
	return v.Values, true
}

// unknown refuses a field. What it was meant to be is not asked for again.
func (n node) unknown(at place, name string, known fields) {
	names := slices.Sorted(maps.Keys(known))
	fix := "remove it"
	if near, ok := nearest.Name(name, names); ok {
		fix = fmt.Sprintf("did you mean %q?", near)
		n.r.bad[join(n.path, near)] = true
	}
	n.r.wrong(at, join(n.path, clip(name)), "unknown field", fix)
}

// list reads each item of a list. A value that is not a list is a list of itself.
func (n node) list(read func(node)) {
	sequence, ok := n.ast.(*ast.SequenceNode)
	if !ok {
		read(n)
		return
	}
	if !n.within() {
		return
	}
	for i, value := range sequence.Values {
		read(n.r.node(value, fmt.Sprintf("%s[%d]", n.path, i)))
	}
}

// wrongType reports what is expected and what is there.
func (n node) wrongType(want string) {
	if v, ok := n.ast.(*ast.StringNode); ok && !n.plain(v.Value) {
		return
	}
	n.wrong("expected "+want+", got "+describe(n.ast), fixType(n.ast))
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
		return fmt.Sprintf("the text %q", clip(v.Value))
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		return clip(v.GetToken().Value)
	}
	return "something else"
}

func fixType(value ast.Node) string {
	switch value.(type) {
	case *ast.NullNode:
		return "give it a value, or remove it"
	case *ast.MappingNode:
		return "change it, or put it in quotes if it is text with a colon"
	}
	return "change it"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// clip shortens what a message repeats.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
