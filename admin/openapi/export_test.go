package openapi

import (
	"maps"
	"reflect"
	"slices"

	"edgeguard/admin"
	"edgeguard/admin/call"
)

// Described returns the routes that have a row.
func Described() []string { return slices.Sorted(maps.Keys(operations)) }

// Fields returns the JSON names of all fields of the document's types by their keys.
func Fields() map[string]string {
	s := schemas{components: object{}, named: map[reflect.Type]bool{}}
	types := []any{admin.Event{}, call.Problem{}}
	for _, o := range operations {
		types = append(types, o.body, o.answer)
	}
	for _, of := range types {
		if of != nil {
			s.of(reflect.TypeOf(of))
		}
	}
	names := make(map[string]string)
	for t := range s.named {
		for _, f := range fieldsOf(t) {
			names[f.key] = f.name
		}
	}
	return names
}
