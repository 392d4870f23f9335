package nginx

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"edgeguard/migrate"
)

// location returns which paths a location serves.
func (im *importer) location(s, l *ConfNode) (*migrate.Condition, error) {
	return im.readOnce(l, func() (*migrate.Condition, error) { return locationOf(s, l) })
}

// locationOf returns which paths a location serves. nginx takes an exact one; else the
// longest prefix if that has ^~; else the first regular expression; else that prefix.
func locationOf(s, l *ConfNode) (*migrate.Condition, error) {
	called := strings.Join(l.Words, " ") + " at " + l.Place()
	switch {
	case len(l.Directives("location")) > 0:
		return nil, fmt.Errorf("%s has locations inside, which take requests from it", called)
	case len(l.Directives("internal")) > 0:
		return nil, fmt.Errorf("%s is internal: no client asks for it", called)
	}
	mine, err := pathOf(l)
	if err != nil {
		return nil, err
	}
	served, err := mine.matcher()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", called, err)
	}
	all := []*migrate.Condition{served}
	before := true // what precedes the location
	for _, other := range s.Directives("location") {
		if other == l {
			before = false
			continue
		}
		o, err := pathOf(other)
		if err != nil {
			continue // a named one takes no request from others
		}
		first, err := o.first(mine, before, s)
		if err != nil || !first {
			if err != nil {
				return nil, err
			}
			continue
		}
		taken, err := o.matcher()
		if err != nil {
			return nil, fmt.Errorf("%s at %s takes requests from it: %w", strings.Join(other.Words, " "), other.Place(), err)
		}
		all = append(all, migrate.Negate(taken))
	}
	return migrate.AllOf(all...), nil
}

// uri is what a location matches: a modifier, and a text.
type uri struct{ kind, text string }

// modifiers are the kinds besides the plain prefix.
var modifiers = []string{"=", "~*", "^~", "~"}

// pathOf returns what a location matches.
func pathOf(l *ConfNode) (uri, error) {
	text := l.Word(len(l.Words) - 1)
	switch {
	case len(l.Words) == 3 && slices.Contains(modifiers, l.Word(1)):
		return uri{l.Word(1), text}, nil
	case len(l.Words) != 2 || strings.HasPrefix(text, "@"):
		return uri{}, fmt.Errorf("%s at %s has a name: no client asks for it", strings.Join(l.Words, " "), l.Place())
	}
	for _, kind := range modifiers { // nginx takes them without a blank, too
		if rest, ok := strings.CutPrefix(text, kind); ok {
			return uri{kind, rest}, nil
		}
	}
	return uri{"", text}, nil
}

func (u uri) isRegexp() bool { return u.kind == "~" || u.kind == "~*" }
func (u uri) isPrefix() bool { return u.kind == "" || u.kind == "^~" }

// escapes are what nginx's reader of words changes in one kind of text and not in
// another.
var escapes = regexp.MustCompile(`\\["'\\trn]`)

// matcher returns which paths a location matches, whatever others do.
func (u uri) matcher() (*migrate.Condition, error) {
	switch {
	case u.kind == "=":
		return migrate.TextIs(migrate.Path, migrate.Equals, u.text, false)
	case u.isPrefix() && u.text == "/":
		return migrate.Always(), nil
	case u.isPrefix():
		return migrate.TextIs(migrate.Path, migrate.Begins, u.text, false)
	case escapes.MatchString(u.text):
		return nil, errors.New("what a backslash before a quote, a backslash, t, r or n means depends on nginx's quotes")
	}
	return migrate.TextIs(migrate.Path, migrate.Matches, u.text, u.kind == "~*")
}

// first reports whether a location serves some of the paths that another one of its
// server matches. Before says that it precedes that one.
func (u uri) first(other uri, before bool, s *ConfNode) (bool, error) {
	inside := strings.HasPrefix(u.text, other.text)
	switch {
	case other.kind == "=":
		return false, nil
	case u.isRegexp():
		return other.kind == "" || other.isRegexp() && before, nil
	case other.isPrefix(): // an exact path, or a longer prefix
		return inside && (u.kind == "=" || len(u.text) > len(other.text)), nil
	case u.kind == "^~":
		for _, l := range s.Directives("location") {
			if longer, err := pathOf(l); err == nil && longer.kind == "" && strings.HasPrefix(longer.text, u.text) && len(longer.text) > len(u.text) {
				return false, fmt.Errorf("which paths the regular expression %s serves depends on prefixes inside of each other", other.text)
			}
		}
		return true, nil
	}
	return u.kind == "=", nil
}
