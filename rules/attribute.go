package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"edgeguard"
	"edgeguard/internal/unsafetext"
)

// Attribute is a part of a key besides the address.
type Attribute struct {
	Field edgeguard.Field
	// Header is the header's name in lower case, for edgeguard.FieldHeader.
	Header string
	// Name is that of a cookie, where Header is "cookie", or of a parameter of the query.
	Name string
	// Query says that it is the query or, with Name, a parameter, for edgeguard.FieldPath.
	Query bool
}

// How values are shown. A value longer than valueRoom is cut to valueHead, and
// a hash of the whole keeps it apart from others that begin alike.
const (
	valueRoom = 96
	valueHead = 64
	// headerHead is how much is shown of a header's value, at most a quarter
	// of it: headers are where secrets live, and keys go to logs and pages.
	headerHead = 4
	hashBytes  = 8
)

// parseAttribute reads "host", "path", "method", "node", "agent", "query", or "header:",
// "cookie:" or "query:" and a name.
func parseAttribute(text string) (Attribute, bool) {
	switch of, name, named := strings.Cut(text, ":"); {
	case named && of == "header":
		return Attribute{Field: edgeguard.FieldHeader, Header: strings.ToLower(name)}, isToken(name)
	case named && of == "cookie":
		return Attribute{Field: edgeguard.FieldHeader, Header: "cookie", Name: name}, isToken(name)
	case named && of == "query":
		return Attribute{Field: edgeguard.FieldPath, Name: name, Query: true}, isParameter(name)
	case text == "query":
		return Attribute{Field: edgeguard.FieldPath, Query: true}, true
	}
	switch field, _ := edgeguard.ParseField(text); field {
	case edgeguard.FieldHost, edgeguard.FieldPath, edgeguard.FieldMethod, edgeguard.FieldNode, edgeguard.FieldAgent:
		return Attribute{Field: field}, true
	}
	return Attribute{}, false
}

// isParameter reports whether a query can have a parameter of this name, as it is read. Other
// than visible ASCII is left out, so that every key can be shown.
func isParameter(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("&;=#", r) })
}

// String returns the name as in the config, with a header's in lower case.
func (a Attribute) String() string {
	switch {
	case a.Query && a.Name != "":
		return "query:" + a.Name
	case a.Query:
		return "query"
	case a.Name != "":
		return "cookie:" + a.Name
	case a.Field == edgeguard.FieldHeader:
		return "header:" + a.Header
	}
	return a.Field.String()
}

// append appends "name=value", a path folded or as it is; false if the event does not have the value.
func (a *Attribute) append(dst []byte, ev *edgeguard.Event, fold bool) ([]byte, bool) {
	if ev.Known&a.Field == 0 {
		return dst, false
	}
	switch {
	case a.Query, a.Field == edgeguard.FieldHeader, a.Field == edgeguard.FieldAgent:
		return a.appendSecret(dst, ev)
	}
	switch a.Field {
	case edgeguard.FieldHost:
		return appendHost(append(dst, "host="...), ev.Host), true
	case edgeguard.FieldPath:
		return appendPath(append(dst, "path="...), ev.Path, fold), true
	case edgeguard.FieldMethod:
		return appendMethod(append(dst, "method="...), ev.Method), true
	}
	return appendValue(append(dst, "node="...), ev.Node), true
}

// appendSecret is append for a value of which only the beginning and a hash are shown.
func (a *Attribute) appendSecret(dst []byte, ev *edgeguard.Event) ([]byte, bool) {
	value, ok := a.secret(ev)
	if !ok {
		return dst, false
	}
	switch {
	case a.Query:
		dst = append(dst, "query"...)
	case a.Field == edgeguard.FieldAgent:
		dst = append(dst, "agent"...)
	case a.Name != "":
		dst = append(dst, "cookie"...)
	default:
		dst = append(append(dst, "header:"...), a.Header...)
	}
	if a.Name != "" {
		dst = append(append(dst, ':'), a.Name...)
	}
	return appendDigest(append(dst, '='), value, min(headerHead, len(value)/4)), true
}

// secret returns the value of such an attribute.
func (a *Attribute) secret(ev *edgeguard.Event) (value string, ok bool) {
	switch {
	case a.Query && a.Name != "":
		return parameterNamed(query(ev.Path), a.Name)
	case a.Query:
		return query(ev.Path), true
	case a.Field == edgeguard.FieldAgent:
		return ev.Agent, true
	case ev.Header == nil:
		return "", false
	}
	if value, ok = ev.Header(a.Header); ok && a.Name != "" {
		return cookieNamed(value, a.Name)
	}
	return value, ok
}

// parameterNamed returns the first parameter of a query that has a name, both decoded. Queries with so
// many that it is not looked for have one value together: else who adds others is not counted.
func parameterNamed(query, name string) (value string, ok bool) {
	for n := 0; query != "" && n < mostParameters; n++ {
		part := query
		if end := strings.IndexAny(query, "&;"); end >= 0 {
			part, query = query[:end], query[end+1:]
		} else {
			query = ""
		}
		key, value, _ := strings.Cut(part, "=")
		if decoded(key) == name {
			return decoded(value), true
		}
	}
	return "&", query != ""
}

// cookieNamed returns the first cookie of a Cookie header that has a name, as browsers write it.
func cookieNamed(header, name string) (value string, ok bool) {
	for part := range strings.SplitSeq(header, ";") {
		if key, value, found := strings.Cut(strings.TrimLeft(part, " \t"), "="); found && key == name {
			return strings.TrimRight(value, " \t"), true
		}
	}
	return "", false
}

func appendHost(dst []byte, host string) []byte {
	if plainHost(host) {
		return appendValue(dst, host)
	}
	var room [hostRoom]byte
	return appendValue(dst, unsafetext.String(normalHost(room[:0], host)))
}

func appendPath(dst []byte, target string, fold bool) []byte {
	if fold {
		return appendFoldedValue(dst, target)
	}
	if path, ok := plainPath(target); ok {
		return appendValue(dst, path)
	}
	var room [pathRoom]byte
	return appendValue(dst, unsafetext.String(normalPath(room[:0], target)))
}

func appendMethod(dst []byte, method string) []byte {
	if plainMethod(method) {
		return appendValue(dst, method)
	}
	var room [methodRoom]byte
	return appendValue(dst, unsafetext.String(appendUpper(room[:0], method)))
}

// appendValue appends a value as it is shown: whole if it is short.
func appendValue(dst []byte, value string) []byte {
	if len(value) > valueRoom {
		return appendDigest(dst, value, valueHead)
	}
	return appendEscaped(dst, value)
}

// appendDigest appends the first bytes of a value and a hash of the whole: the
// first 16 digits of its SHA-256, which an operator can compare with
// `printf %s VALUE | sha256sum`.
func appendDigest(dst []byte, value string, head int) []byte {
	sum := sha256.Sum256(unsafetext.Bytes(value))
	dst = append(appendEscaped(dst, value[:head]), "…"...)
	return hex.AppendEncode(dst, sum[:hashBytes])
}

// appendEscaped writes what is not visible ASCII as %XX, and "%" too. So no
// value can pass for another, break the line it is shown in, or forge the next
// attribute.
func appendEscaped(dst []byte, value string) []byte {
	const digits = "0123456789ABCDEF"
	for i := 0; i < len(value); i++ {
		c := value[i]
		if c <= ' ' || c >= 0x7f || c == '%' {
			dst = append(dst, '%', digits[c>>4], digits[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// isToken reports whether s is a token of RFC 9110 section 5.6.2, as methods
// and header names are.
func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
