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

// parseAttribute reads "host", "path", "method", "node" or "header:Name".
func parseAttribute(text string) (Attribute, bool) {
	if name, ok := strings.CutPrefix(text, "header:"); ok {
		return Attribute{edgeguard.FieldHeader, strings.ToLower(name)}, isToken(name)
	}
	switch field, _ := edgeguard.ParseField(text); field {
	case edgeguard.FieldHost, edgeguard.FieldPath, edgeguard.FieldMethod, edgeguard.FieldNode:
		return Attribute{Field: field}, true
	}
	return Attribute{}, false
}

// String returns the name as in the config, with a header's in lower case.
func (a Attribute) String() string {
	if a.Field == edgeguard.FieldHeader {
		return "header:" + a.Header
	}
	return a.Field.String()
}

// append appends "name=value", a path folded or as it is; false if the event does not have the value.
func (a *Attribute) append(dst []byte, ev *edgeguard.Event, fold bool) ([]byte, bool) {
	if ev.Known&a.Field == 0 {
		return dst, false
	}
	switch a.Field {
	case edgeguard.FieldHost:
		return appendHost(append(dst, "host="...), ev.Host), true
	case edgeguard.FieldPath:
		return appendPath(append(dst, "path="...), ev.Path, fold), true
	case edgeguard.FieldMethod:
		return appendMethod(append(dst, "method="...), ev.Method), true
	case edgeguard.FieldNode:
		return appendValue(append(dst, "node="...), ev.Node), true
	}
	if ev.Header == nil {
		return dst, false
	}
	value, ok := ev.Header(a.Header)
	if !ok {
		return dst, false
	}
	dst = append(append(append(dst, "header:"...), a.Header...), '=')
	return appendDigest(dst, value, min(headerHead, len(value)/4)), true
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
