package yaml

import (
	"fmt"
	"maps"
	"os"
	"strings"
)

// Value reads text in which variables of the environment are expanded: a path or an
// address.
func (n Node) Value() (string, bool) { return n.expanded(n.Literal()) }

// expanded puts the values of variables into a text of the file. That is done after
// the file was parsed, so it stays one text.
func (n Node) expanded(text string, ok bool) (string, bool) {
	if !ok || !HasVariables(text) {
		return text, ok
	}
	out, wrong, fix := ExpandVariables(text, os.LookupEnv)
	if wrong == "" && out == "" {
		wrong, fix = fmt.Sprintf("%q is empty", Clip(text)), "set the variable"
	}
	if wrong != "" {
		n.Wrong(wrong, fix)
		return "", false
	}
	n.f.variables[PathText(n.path)] = text
	return out, true
}

// Values reads a list of such texts, or one.
func (n Node) Values() []string {
	texts := []string{}
	n.List(func(item Node) {
		if text, ok := item.Value(); ok {
			texts = append(texts, text)
		}
	})
	return texts
}

// shown returns what a message repeats of a value: what the file has. A variable may
// hold a secret that was meant for another.
func (n Node) shown(text string) string {
	if written, ok := n.f.variables[PathText(n.path)]; ok {
		return Clip(written)
	}
	return Clip(text)
}

// plain refuses a variable where the text is used as it is written.
func (n Node) plain(text string) bool {
	if HasVariables(text) {
		n.Wrong(fmt.Sprintf("%q is not expanded here", Clip(text)), "write the value out: variables may be used in paths and addresses only")
		return false
	}
	return true
}

// Takes notes that a list which the file does not have is that of another field.
func (f *File) Takes(path, from string) {
	for at, written := range maps.Clone(f.variables) {
		if item, ok := strings.CutPrefix(at, from); ok && (item == "" || item[0] == '[') {
			f.variables[PathText(path)+item] = written
		}
	}
}

// moves notes that the text of a path is that of a field below it: an entry was written
// as its address alone.
func (f *File) moves(path, to string) {
	if written, ok := f.variables[PathText(path)]; ok {
		delete(f.variables, PathText(path))
		f.variables[PathText(to)] = written
	}
}
