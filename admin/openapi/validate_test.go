package openapi_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// value is anything of JSON.
type value = any

// validator compares JSON with the schemas of a document. It knows the words that
// package openapi writes and refuses others, so that no part of a schema goes
// unchecked. Fields that a schema does not name are an error.
type validator struct{ document map[string]value }

// known are the words of schemas.
var known = []string{
	"$ref", "additionalProperties", "anyOf", "default", "description", "examples", "format",
	"items", "maxLength", "maximum", "minimum", "properties", "required", "type",
}

// check returns what is wrong with a value at a place.
func (v *validator) check(at string, schema map[string]value, got value) (wrong []string) {
	for word := range schema {
		if !slices.Contains(known, word) {
			wrong = append(wrong, fmt.Sprintf("%s: the schema has %q, which this test does not know", at, word))
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		return append(wrong, v.check(at, v.resolve(ref), got)...)
	}
	if either, ok := schema["anyOf"].([]value); ok {
		for _, part := range either {
			if len(v.check(at, part.(map[string]value), got)) == 0 {
				return wrong
			}
		}
		return append(wrong, fmt.Sprintf("%s: %v is none of %v", at, got, either))
	}
	switch schema["type"] {
	case "object":
		return append(wrong, v.object(at, schema, got)...)
	case "array":
		return append(wrong, v.array(at, schema, got)...)
	case nil:
		return wrong
	}
	if problem := scalar(schema, got); problem != "" {
		wrong = append(wrong, at+": "+problem)
	}
	return wrong
}

// resolve returns what a reference names, nil for nothing.
func (v *validator) resolve(ref string) map[string]value {
	at := v.document
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		at, _ = at[part].(map[string]value)
	}
	return at
}

func (v *validator) object(at string, schema map[string]value, got value) (wrong []string) {
	fields, ok := got.(map[string]value)
	if !ok {
		return []string{fmt.Sprintf("%s: %v is not an object", at, got)}
	}
	required, _ := schema["required"].([]value)
	for _, name := range required {
		if _, there := fields[name.(string)]; !there {
			wrong = append(wrong, fmt.Sprintf("%s: %s is missing", at, name))
		}
	}
	properties, _ := schema["properties"].(map[string]value)
	others, _ := schema["additionalProperties"].(map[string]value)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		part, named := properties[name].(map[string]value)
		if !named {
			part = others
		}
		if part == nil {
			wrong = append(wrong, fmt.Sprintf("%s: %s is not in the document", at, name))
			continue
		}
		wrong = append(wrong, v.check(at+"."+name, part, fields[name])...)
	}
	return wrong
}

func (v *validator) array(at string, schema map[string]value, got value) (wrong []string) {
	all, ok := got.([]value)
	if !ok {
		return []string{fmt.Sprintf("%s: %v is not an array", at, got)}
	}
	for i, one := range all {
		wrong = append(wrong, v.check(fmt.Sprintf("%s[%d]", at, i), schema["items"].(map[string]value), one)...)
	}
	return wrong
}

// scalar returns what is wrong with a value that has no parts.
func scalar(schema map[string]value, got value) string {
	switch schema["type"] {
	case "null":
		if got != nil {
			return fmt.Sprintf("%v is not null", got)
		}
	case "boolean":
		if _, ok := got.(bool); !ok {
			return fmt.Sprintf("%v is not a boolean", got)
		}
	case "string":
		text, ok := got.(string)
		if !ok {
			return fmt.Sprintf("%v is not a string", got)
		}
		if _, err := time.Parse(time.RFC3339, text); schema["format"] == "date-time" && err != nil {
			return err.Error()
		}
	case "number", "integer":
		n, ok := got.(float64)
		if !ok || schema["type"] == "integer" && n != math.Trunc(n) {
			return fmt.Sprintf("%v is not of type %s", got, schema["type"])
		}
		if least, ok := schema["minimum"].(float64); ok && n < least {
			return fmt.Sprintf("%v is below %v", n, least)
		}
		if most, ok := schema["maximum"].(float64); ok && n > most {
			return fmt.Sprintf("%v is above %v", n, most)
		}
	default:
		return fmt.Sprintf("the schema has the type %v", schema["type"])
	}
	return ""
}
