package openapi

import (
	_ "embed" // what fields say
	"encoding"
	"maps"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"edgeguard/crowdsec"
	"edgeguard/notify"
)

// object is a JSON object. Its keys are sorted when it is written.
type object = map[string]any

// written are the types that are not written by their parts.
var written = map[reflect.Type]object{
	reflect.TypeFor[time.Time]():    {"type": "string", "format": "date-time"},
	reflect.TypeFor[netip.Addr]():   {"type": "string", "description": "an IPv4 or IPv6 address", "examples": []string{"203.0.113.7"}},
	reflect.TypeFor[netip.Prefix](): {"type": "string", "description": "a prefix without host bits", "examples": []string{"203.0.113.0/24"}},
}

// renamed are the types whose names are another's too.
var renamed = map[reflect.Type]string{
	reflect.TypeFor[crowdsec.Figures](): "CrowdSec",
	reflect.TypeFor[notify.Figures]():   "Notified",
}

// schemas makes JSON Schema of Go types, as encoding/json writes them, so that a
// new field of an answer is in the document without an edit. Types with a name
// become components.
type schemas struct {
	components object
	named      map[reflect.Type]bool // those among the components
	closed     bool                  // unknown fields are refused
}

// of returns the schema of a type.
func (s *schemas) of(t reflect.Type) object {
	if known, ok := written[t]; ok {
		return known
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return unsigned(t)
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.structure(t)
	}
	return object{} // anything
}

// unsigned returns the schema of a whole number that is not negative, with its
// greatest value where every JSON reader can hold that.
func unsigned(t reflect.Type) object {
	schema := object{"type": "integer", "minimum": 0}
	if t.Bits() <= 32 {
		schema["maximum"] = uint64(math.MaxUint64) >> (64 - t.Bits())
	}
	return schema
}

// structure returns a reference to the component of a struct, which it makes
// before its fields: a type may contain itself.
func (s *schemas) structure(t reflect.Type) object {
	name := nameOf(t)
	if name == "" {
		return s.fields(t)
	}
	if !s.named[t] {
		s.named[t] = true
		s.components[name] = s.fields(t)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// nameOf returns the name of a type's component, which packages do not tell apart.
func nameOf(t reflect.Type) string {
	if name, ok := renamed[t]; ok {
		return name
	}
	return t.Name()
}

func (s *schemas) fields(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range fieldsOf(t) {
		properties[f.name] = s.field(&f)
		if !f.optional {
			required = append(required, f.name)
		}
	}
	schema := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	if s.closed {
		schema["additionalProperties"] = false
	}
	return schema
}

func (s *schemas) field(f *field) object {
	schema := s.of(f.of)
	if f.of.Kind() == reflect.Pointer && !f.optional {
		schema = object{"anyOf": []any{schema, object{"type": "null"}}}
	}
	if says := sentences()[f.key]; says != "" {
		schema = maps.Clone(schema)
		schema["description"] = says
	}
	return schema
}

// fieldsText has a line for each field with a comment in the source: its key and what it says.
//
//go:generate go test -count=1 -run ^TestFields$ . -update
//go:embed fields.txt
var fieldsText string

// sentences are what fields say, by their keys.
var sentences = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	for line := range strings.Lines(fieldsText) {
		key, says, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		all[key] = says
	}
	return all
})

// field is one field of an object.
type field struct {
	name     string
	key      string // "admin.Block.Reason"
	of       reflect.Type
	optional bool // left out when it is empty
}

// fieldsOf returns the fields of a struct as encoding/json writes them: those of
// an embedded struct are its own, unless it has one of that name.
func fieldsOf(t reflect.Type) (all []field) {
	var embedded []field
	for f := range t.Fields() {
		tag, given := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
		case f.Anonymous && !given && f.Type.Kind() == reflect.Struct:
			embedded = append(embedded, fieldsOf(f.Type)...)
		case f.IsExported():
			if name == "" {
				name = f.Name
			}
			optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
			key := strings.TrimPrefix(t.PkgPath(), "edgeguard/") + "." + t.Name() + "." + f.Name
			all = append(all, field{name, key, f.Type, optional})
		}
	}
	for _, inner := range embedded {
		if !slices.ContainsFunc(all, func(f field) bool { return f.name == inner.name }) {
			all = append(all, inner)
		}
	}
	return all
}
