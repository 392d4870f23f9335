package edgeguard

import (
	"slices"
	"strings"
)

// Field is a set of the fields of an event that a source may or may not
// supply.
type Field uint16

// The fields that a rule can match or count by.
const (
	FieldHost Field = 1 << iota
	FieldMethod
	FieldPath
	FieldAgent
	FieldStatus
	FieldPort
	FieldNode
	FieldHeader
	FieldReferer
	FieldFetchSite
	FieldCrawler
)

var fieldNames = []string{"host", "method", "path", "agent", "status", "port", "node", "header", "referer", "fetch_site", "crawler"}

// ParseField reads one field's name.
func ParseField(name string) (Field, bool) {
	i := slices.Index(fieldNames, name)
	if i < 0 {
		return 0, false
	}
	return 1 << i, true
}

// String returns the names of the fields in the set, joined by ", ".
func (f Field) String() string {
	var names []string
	for i, name := range fieldNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
