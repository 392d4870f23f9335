package rules

import (
	"strings"

	"edgeguard"
	"edgeguard/internal/unsafetext"
)

// when is a compiled expression: what the terms of a match cannot say. It is
// made of closures over the few operations that [whenCompiler] knows, so it
// always ends, cannot fail, and costs no more than its text's length times
// that of the fields it reads.
type when struct {
	holds truth // of the event
	// each must hold of one of the query's parameters besides; nil if none is named.
	each   truth
	fields edgeguard.Field // what must be known for it to hold
	// Which fields it names: any, and those that are read into a subject.
	names, host, path, query bool
}

// subject is an event as an expression sees it: host and path in normal form, and
// the query as it was sent, each only if the expression reads it.
type subject struct {
	event             *edgeguard.Event
	host, path, query string
	part              string // the parameter that is looked at, as it was sent
}

type (
	truth  func(subject) bool
	text   func(subject) string
	number func(subject) int
)

// match reports whether the expression holds of the event. Of one that lacks
// any of the fields it does not, whatever the rest would say. It allocates only where a path or a host is not in normal
// form as it was sent.
func (w *when) match(ev *edgeguard.Event) bool {
	if ev.Known&w.fields != w.fields || w.each != nil && strings.IndexByte(ev.Path, '?') < 0 {
		return false
	}
	s := w.subject(ev)
	if holds := w.holdsOf(s); holds || !w.path || !hasOther(ev.Path) {
		return holds
	}
	s.path = unsafetext.String(otherPath(make([]byte, 0, len(ev.Path)+1), ev.Path))
	return w.holdsOf(s)
}

// subject returns the event with what the expression reads of it.
func (w *when) subject(ev *edgeguard.Event) subject {
	s := subject{event: ev}
	if w.host {
		s.host = wholeHost(ev.Host)
	}
	if w.path {
		s.path = wholePath(ev.Path)
	}
	if w.query || w.each != nil {
		s.query = query(ev.Path) // cut once: an expression may look for many words in it
	}
	return s
}

func (w *when) holdsOf(s subject) bool {
	if w.each != nil && s.query == "" {
		return false // no parameter, and so none of which it holds
	}
	holds := w.holds(s)
	if holds && w.each != nil {
		_, holds = w.first(s)
	}
	return holds
}

// wholePath returns the normal form of a target's path, as a string that may be
// kept: a regular expression's machine outlives the call that would own a room
// on the stack.
func wholePath(target string) string {
	if path, ok := plainPath(target); ok {
		return path
	}
	return unsafetext.String(normalPath(make([]byte, 0, len(target)+1), target))
}

// wholeHost returns a host without its port and last dot, and in lower case.
func wholeHost(host string) string {
	if plainHost(host) {
		return host
	}
	if host = bareHost(host); len(host) >= hostRoom {
		return ""
	}
	return unsafetext.String(appendLower(make([]byte, 0, len(host)), host))
}

// upperMethod returns a method in upper case.
func upperMethod(method string) string {
	if plainMethod(method) {
		return method
	}
	return unsafetext.String(appendUpper(make([]byte, 0, len(method)), method))
}

// query returns what stands behind the question mark of a request target, as it
// was sent.
func query(target string) string {
	target, _, _ = strings.Cut(target, "#")
	_, query, _ := strings.Cut(target, "?")
	return query
}

// mostParameters is how many parts a query is looked at in: no page has as many, and who
// sends thousands would have each of them cost an expression.
const mostParameters = 100

// first returns the first parameter of the query, as it was sent, for which the expression
// holds. The last of [mostParameters] is all the rest, with what separates it from the one
// before: it does not begin with a name that the expression spares.
func (w *when) first(s subject) (part string, holds bool) {
	rest := s.query
	for n := 1; rest != ""; n++ {
		end := strings.IndexAny(rest, "&;") // Rack before 3 and Python before 3.10 split at both
		if end < 0 {
			end = len(rest)
		}
		if s.part = rest[:end]; w.each(s) {
			return s.part, true
		}
		if n == mostParameters-1 && end < len(rest) {
			s.part = rest[end:]
			return s.part, w.each(s)
		}
		rest = rest[min(end+1, len(rest)):]
	}
	return "", false
}

// decoded returns a part of a query as servers read it.
func decoded(part string) string {
	if strings.IndexByte(part, '%') < 0 && strings.IndexByte(part, '+') < 0 {
		return part
	}
	return unsafetext.String(appendDecoded(make([]byte, 0, len(part)), part))
}

// appendDecoded appends a part of a query with its escapes decoded once. An escape that is
// none stays as it is.
func appendDecoded(dst []byte, part string) []byte {
	for i := 0; i < len(part); i++ {
		c := part[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && i+2 < len(part) && isHex(part[i+1]) && isHex(part[i+2]):
			c = unhex(part[i+1])<<4 | unhex(part[i+2])
			i += 2
		}
		dst = append(dst, c)
	}
	return dst
}

// whenTexts and whenNumbers are the fields that an expression can name.
var (
	whenTexts = map[string]text{
		"host":      func(s subject) string { return s.host },
		"method":    func(s subject) string { return upperMethod(s.event.Method) },
		"path":      func(s subject) string { return s.path },
		"query":     func(s subject) string { return s.query },
		"parameter": func(s subject) string { return decoded(s.part) },
		"agent":     func(s subject) string { return s.event.Agent },
		"node":      func(s subject) string { return s.event.Node },
	}
	whenNumbers = map[string]number{
		"status": func(s subject) int { return int(s.event.Status) },
		"port":   func(s subject) int { return int(s.event.Port) },
	}
	whenNames = "host, method, path, query, parameter, agent, node, status and port"
)

// fieldOf returns the event's field that a name reads: a query is part of what
// the path was sent with.
func fieldOf(name string) edgeguard.Field {
	if name == "query" || name == "parameter" {
		return edgeguard.FieldPath
	}
	return fieldNamed(name)
}

// fieldNamed returns the field of a name that is written in this package. A name without a field
// would be looked up in every event, so it panics.
func fieldNamed(name string) edgeguard.Field {
	field, ok := edgeguard.ParseField(name)
	if !ok {
		panic("rules: no field of an event is named " + name)
	}
	return field
}
