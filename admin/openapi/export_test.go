package openapi

import (
	"maps"
	"slices"
)

// Described returns the routes that have a row.
func Described() []string { return slices.Sorted(maps.Keys(operations)) }
