package packet

import (
	"bytes"

	"edgeguard"
)

// maxMethod bounds a method; the longest registered one has 17 letters.
const maxMethod = 20

// request is the head of an HTTP/1 request, as far as it lies in one segment.
type request struct {
	method, path, host, agent []byte
	known                     edgeguard.Field
}

// parseRequest reads a segment that begins with a request line
// (https://www.rfc-editor.org/rfc/rfc9112#section-3).
//
// A line that the segment cuts off is taken for one if it begins with a usual
// method and a path, which is known if a part of the version follows it.
func parseRequest(b []byte) (request, bool) {
	method := leadingMethod(b)
	if method == nil {
		return request{}, false
	}
	r := request{method: method, known: edgeguard.FieldMethod}
	line, rest, whole := bytes.Cut(b[len(method)+1:], []byte{'\n'})
	line = bytes.TrimSuffix(line, []byte{'\r'})
	end := bytes.LastIndexByte(line, ' ')
	switch {
	case !whole && (len(line) == 0 || line[0] != '/' || !isUsual(method)):
		return request{}, false
	case !whole && end < 0:
		return r, true
	case end <= 0 || !isVersion(line[end+1:], whole):
		return request{}, false
	}
	r.path = line[:end]
	r.known |= edgeguard.FieldPath
	r.headers(rest)
	return r, true
}

// isVersion reports whether b is HTTP/1's version, or, if it is not whole,
// the beginning of it.
func isVersion(b []byte, whole bool) bool {
	const one = "HTTP/1."
	if !whole && len(b) < len(one) {
		return len(b) > 0 && string(b) == one[:len(b)]
	}
	return bytes.HasPrefix(b, []byte(one))
}

// leadingMethod returns the capitals before the first space.
func leadingMethod(b []byte) []byte {
	for i, c := range b[:min(len(b), maxMethod+1)] {
		if c == ' ' && i > 0 {
			return b[:i]
		}
		if (c < 'A' || c > 'Z') && c != '-' {
			return nil
		}
	}
	return nil
}

func isUsual(method []byte) bool {
	switch string(method) {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE":
		return true
	}
	return false
}

// headers reads host and agent. One that does not come before the blank line
// is known to be empty; without the blank line it may yet come.
func (r *request) headers(b []byte) {
	for {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		if !whole {
			return
		}
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(line) == 0 {
			r.known |= edgeguard.FieldHost | edgeguard.FieldAgent
			return
		}
		if value, ok := headerValue(line, "host"); ok && r.known&edgeguard.FieldHost == 0 {
			r.host = value
			r.known |= edgeguard.FieldHost
		}
		if value, ok := headerValue(line, "user-agent"); ok && r.known&edgeguard.FieldAgent == 0 {
			r.agent = value
			r.known |= edgeguard.FieldAgent
		}
		b = rest
	}
}

// headerValue returns the value of a header line if it is of that name, which
// is in lower case.
func headerValue(line []byte, name string) ([]byte, bool) {
	if len(line) <= len(name) || line[len(name)] != ':' {
		return nil, false
	}
	for i := range len(name) {
		c := line[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != name[i] {
			return nil, false
		}
	}
	return bytes.TrimSpace(line[len(name)+1:]), true
}
