// Package key hides that one line says all of a key of the config: how it is read, what
// is allowed, how it is printed, and its row in docs/configuration.md.
//
// A section returns a [List] whose keys are bound to the fields of its struct. What is
// between fields is checked by the section, after [List.Read]. Reflection and struct tags
// were rejected: the bounds and the forms of a key are Go values, and the compiler checks
// that a key fits its field.
package key

import (
	"strings"

	"edgeguard/config/yaml"
)

// Key is one key of a mapping.
type Key struct {
	Name string
	// Default, Allowed and Meaning are of its row in docs/configuration.md.
	Default, Allowed, Meaning string

	read   func(yaml.Node)
	text   func(p *yaml.Printer, path string) string // empty where the key is not printed
	write  func(p *yaml.Printer, path string)        // instead of text, where it takes lines of its own
	inside func() List                               // of a mapping
}

// List is the keys of a mapping, in the order in which they are printed.
type List []Key

// Group is a mapping inside, which is not printed while none of its keys is. check, which
// may be nil, looks at what is between them.
func Group(name string, keys func() List, check func(yaml.Node), meaning string) Key {
	return mapping(name, keys, func(n yaml.Node) {
		keys().Read(n)
		if check != nil {
			check(n)
		}
	}, meaning)
}

// Optional is a mapping inside that the config may be without.
func Optional[T any](name string, to **T, read func(yaml.Node) *T, keys func(*T) List) Key {
	inside := func() List {
		if *to == nil {
			return nil
		}
		return keys(*to)
	}
	return mapping(name, inside, func(n yaml.Node) { *to = read(n) }, "")
}

func mapping(name string, keys func() List, read func(yaml.Node), meaning string) Key {
	text := func(p *yaml.Printer, path string) string {
		if text := keys().Flow(p, path); text != "{}" {
			return text
		}
		return ""
	}
	return Key{Name: name, Allowed: "a mapping", Meaning: meaning, read: read, text: text, inside: keys}
}

// Items is a list of mappings, which is not printed while it is empty.
func Items[S ~[]T, T any](name string, to *S, read func(yaml.Node) T, keys func(*T) List) Key {
	return Key{Name: name, text: unprinted, read: func(n yaml.Node) {
		*to = (*to)[:0]
		n.List(func(n yaml.Node) { *to = append(*to, read(n)) })
	}, write: func(p *yaml.Printer, path string) {
		if len(*to) > 0 {
			p.Field(depth(path)-1, name, "")
		}
		for i := range *to {
			p.WriteString(strings.Repeat("  ", depth(path)) + "- " + keys(&(*to)[i]).Flow(p, yaml.ItemPath(path, i)) + "\n")
		}
	}}
}

// Section is a key that is printed otherwise, or never, if write is nil.
func Section(name string, read func(yaml.Node), write func(p *yaml.Printer, path string)) Key {
	return Key{Name: name, read: read, text: unprinted, write: write}
}

func unprinted(*yaml.Printer, string) string { return "" }

// Always returns the key of a list, which is printed while it is empty, too.
func (k Key) Always() Key {
	write := k.write
	k.write = func(p *yaml.Printer, path string) {
		before := p.Len()
		if write(p, path); p.Len() == before {
			p.Field(depth(path)-1, k.Name, "[]")
		}
	}
	return k
}

// Lines returns the key of a mapping, whose keys are printed each on a line.
func (k Key) Lines() Key {
	k.write = func(p *yaml.Printer, path string) {
		inside := yaml.Printer{Variables: p.Variables}
		if k.inside().Write(&inside, path); inside.Len() > 0 {
			p.Field(depth(path)-1, k.Name, "")
			p.WriteString(inside.String())
		}
	}
	return k
}

// Usual returns the key with the words for its default, where that is no value.
func (k Key) Usual(words string) Key {
	k.Default = words
	return k
}

// If returns the key, which is not printed unless a condition holds.
func (k Key) If(printed bool) Key {
	if !printed {
		k.text = unprinted
	}
	return k
}

// Read reads a mapping by its keys, and refuses any other.
func (l List) Read(n yaml.Node) { n.Mapping(l.Fields()) }

// Fields returns how each key is read.
func (l List) Fields() yaml.Fields {
	fields := make(yaml.Fields, len(l))
	for _, k := range l {
		fields[k.Name] = k.read
	}
	return fields
}

// Write writes the keys below a path, each on a line of its own.
func (l List) Write(p *yaml.Printer, path string) {
	for _, k := range l {
		at := yaml.JoinPath(path, k.Name)
		if k.write != nil {
			k.write(p, at)
		} else if text := k.text(p, at); text != "" {
			p.Field(depth(path), k.Name, text)
		}
	}
}

// Flow returns the keys as a mapping on one line.
func (l List) Flow(p *yaml.Printer, path string) string {
	var all []string
	for _, k := range l {
		if text := k.text(p, yaml.JoinPath(path, k.Name)); text != "" {
			all = append(all, k.Name+": "+text)
		}
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// depth returns how far the fields below a path are indented.
func depth(path string) int {
	if path == "" {
		return 0
	}
	return 1 + strings.Count(path, ".")
}
