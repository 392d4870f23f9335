package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"edgeguard/internal/nearest"
)

// What expr says of an expression that it refuses.
var (
	whenUnexpected = regexp.MustCompile(`^unexpected token (\w+)(?:\((".*")\))?$`)
	whenUnknown    = regexp.MustCompile(`^unknown name (\w+)$`)
	whenNotTruth   = regexp.MustCompile(`^expected bool, but got (\w+)$`)
)

// whenWords are the words of the language that are no fields.
var whenWords = []string{"and", "contains", "endsWith", "in", "len", "lower", "matches", "not", "or", "startsWith", "upper"}

// explainWhen returns expr's message in the words of an operator, and how to fix it.
func explainWhen(message string) flaw {
	if m := whenUnknown.FindStringSubmatch(message); m != nil {
		return flaw{"unknown name " + m[1], meant(m[1])}
	}
	if m := whenUnexpected.FindStringSubmatch(message); m != nil {
		if m[1] == "EOF" {
			return flaw{"the expression ends too early", "complete it, such as path == \"/login\""}
		}
		if m[2] == "" { // of an empty text, expr names the kind of token alone
			return flaw{`unexpected ""`, whenFix}
		}
		return flaw{"unexpected " + m[2], meant(m[2][1 : len(m[2])-1])}
	}
	if m := whenNotTruth.FindStringSubmatch(message); m != nil {
		what := map[string]string{"string": "text", "int": "a number"}[m[1]]
		if what == "" {
			what = m[1]
		}
		return flaw{fmt.Sprintf("is %s, and must be true or false", what), `compare it, such as path == "/login" or status >= 400`}
	}
	return flaw{"invalid expression: " + message, whenFix}
}

// meant returns the fix for a word that the language does not have.
func meant(word string) string {
	names := slices.Concat(whenWords, slices.Collect(maps.Keys(whenTexts)), slices.Collect(maps.Keys(whenNumbers)))
	slices.Sort(names)
	if near, ok := nearest.Name(word, names); ok && near != word {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return whenFix
}
