package yaml

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest is how long a text may become, in bytes. Linux takes no longer path.
const longest = 4096

// HasVariables reports whether a text names a variable, or is meant to.
func HasVariables(text string) bool { return strings.Contains(text, "${") }

// EscapeVariables returns a text that [ExpandVariables] expands to the one given.
func EscapeVariables(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// ExpandVariables returns a text with the value of NAME in the place of each ${NAME}, and
// of each ${NAME:-default}, where the default is used if the value is empty or missing.
// $${ is the text ${, and any other dollar is itself. What is a value is not expanded
// again. The text has been parsed already: a value cannot add a key, a list item or a
// comment.
//
// wrong is empty if nothing is, and fix says what to do about it. Neither has a value
// in it, since that may be a secret that was set in the wrong place.
func ExpandVariables(text string, lookup func(name string) (value string, set bool)) (out, wrong, fix string) {
	var b strings.Builder
	rest := text
	for {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			b.WriteString(rest)
			break
		}
		if escaped, is := strings.CutSuffix(before, "$"); is {
			b.WriteString(escaped + "${")
			rest = after
			continue
		}
		inside, behind, closed := strings.Cut(after, "}")
		if !closed {
			return "", "has ${ without }", forms
		}
		value, wrong, fix := one(inside, lookup)
		if wrong != "" {
			return "", wrong, fix
		}
		b.WriteString(before + value)
		if rest = behind; b.Len() > longest {
			break
		}
	}
	if b.Len() > longest {
		return "", fmt.Sprintf("is longer than %d bytes with the values of its variables", longest), "set them to something shorter"
	}
	return b.String(), "", ""
}

const forms = "use ${NAME} or ${NAME:-default}; $${ is the text ${"

// one returns the value of what stands between the braces.
func one(inside string, lookup func(string) (string, bool)) (value, wrong, fix string) {
	name, usual, hasDefault := strings.Cut(inside, ":-")
	if !valid(name) {
		return "", fmt.Sprintf("%.60q is not the name of a variable", name), forms
	}
	value, set := lookup(name)
	switch {
	case hasDefault && value == "":
		value = usual
	case !set:
		return "", "the variable " + name + " is not set", "set it in the environment of edgeguard, or write ${" + name + ":-default}"
	}
	if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return "", "the value of " + name + " has a line break or another control character", "set it to one line of text"
	}
	return value, "", ""
}

// valid reports whether a name can be that of a variable: letters, digits and
// underscores, and no digit first.
func valid(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 255
}
