package config

import (
	"fmt"
	"maps"
	"strings"

	"edgeguard/config/expand"
	"edgeguard/config/yamltext"
)

// value reads text in which variables of the environment are expanded: a path or an
// address.
func (n node) value() (string, bool) { return n.expanded(n.literal()) }

// expanded puts the values of variables into a text of the file. That is done after
// the file was parsed, so it stays one text.
func (n node) expanded(text string, ok bool) (string, bool) {
	if !ok || !expand.Has(text) {
		return text, ok
	}
	out, wrong, fix := expand.Text(text, n.r.lookup)
	if wrong == "" && out == "" {
		wrong, fix = fmt.Sprintf("%q is empty", clip(text)), "set the variable"
	}
	if wrong != "" {
		n.wrong(wrong, fix)
		return "", false
	}
	n.r.variables[textAt(n.path)] = text
	return out, true
}

// values reads a list of such texts, or one.
func (n node) values() []string {
	texts := []string{}
	n.list(func(item node) {
		if text, ok := item.value(); ok {
			texts = append(texts, text)
		}
	})
	return texts
}

// shown returns what a message repeats of a value: what the file has. A variable may
// hold a secret that was meant for another.
func (n node) shown(text string) string {
	if written, ok := n.r.variables[textAt(n.path)]; ok {
		return clip(written)
	}
	return clip(text)
}

// plain refuses a variable where the text is used as it is written.
func (n node) plain(text string) bool {
	if expand.Has(text) {
		n.wrong(fmt.Sprintf("%q is not expanded here", clip(text)), "write the value out: variables may be used in paths and addresses only")
		return false
	}
	return true
}

// textAt is where variables keeps the text of a path. The only item of a list may be
// written without the list.
func textAt(path string) string { return strings.ReplaceAll(path, "[0]", "") }

// takes notes that a list which the file does not have is that of another field.
func (r *reader) takes(path, from string) {
	for at, written := range maps.Clone(r.variables) {
		if item, ok := strings.CutPrefix(at, from); ok && (item == "" || item[0] == '[') {
			r.variables[textAt(path)+item] = written
		}
	}
}

// moves notes that the text of a path is that of a field below it: an entry was written
// as its address alone.
func (r *reader) moves(path, to string) {
	if written, ok := r.variables[textAt(path)]; ok {
		delete(r.variables, textAt(path))
		r.variables[textAt(to)] = written
	}
}

// quote writes a path or an address as the file has it, with the names of its
// variables.
func (p *printer) quote(path, value string) string {
	if written, ok := p.variables[textAt(path)]; ok {
		return yamltext.Quote(written)
	}
	return yamltext.Quote(expand.Escape(value))
}

// flow writes a list of such texts.
func (p *printer) flow(path string, values []string) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = p.quote(indexed(path, i), value)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// indexed returns the path of a list's item.
func indexed(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
