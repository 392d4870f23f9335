package scan

import (
	"bytes"

	"edgeguard"
)

// splitRequest takes a request line apart. What is not a request line (an empty
// one, a TLS hello, a worm's bytes) leaves method and path unknown, and stray says
// what it is; the event counts all the same.
func (f *Fields) splitRequest() {
	n := TokenEnd(f.Request)
	if n == 0 || n == len(f.Request) || f.Request[n] != ' ' {
		f.stray = f.strayOf(f.Request)
		return
	}
	f.method = f.Request[:n]
	target := f.Request[n+1:]
	if f.Cut {
		f.splitCut(target)
		return
	}
	if target = withoutVersion(target); len(target) == 0 {
		return
	}
	f.path = target
	f.Known |= edgeguard.FieldMethod | edgeguard.FieldPath
}

// strayOf says what bytes are that are no request line. A connection on which nothing came
// (a browser opens some ahead) is none, whichever way a server writes that.
func (f *Fields) strayOf(b []byte) edgeguard.Stray {
	switch text := string(b); {
	case f.Cut || text == "" || text == "-" || text == "<BADREQ>": // HAProxy writes so whatever came, and for nothing
		return 0
	case HasPrefix(b, tlsHello), !f.Raw && HasPrefix(b, tlsEscaped):
		return edgeguard.StrayTLS
	}
	return edgeguard.StrayBytes
}

// How a record of TLS begins with a hello in it, and how nginx and Apache write that.
const (
	tlsHello   = "\x16\x03"
	tlsEscaped = `\x16\x03`
)

// splitCut reads a target whose end is missing. It keeps only what holds for
// every end: what looks like a path may be the version, and a request without a
// target is not a request line.
func (f *Fields) splitCut(target []byte) {
	path := bytes.TrimLeft(target, " ")
	if len(path) == 0 || len(path) < len(target) && mayBeVersion(path) {
		return
	}
	f.Known |= edgeguard.FieldMethod
	if before, _, _ := bytes.Cut(path, []byte("?")); !bytes.Contains(before, []byte(" "+protocol)) {
		f.SetCutPath(path)
	}
}

// protocol begins a version.
const protocol = "HTTP/"

// mayBeVersion reports whether b is the beginning of a version.
func mayBeVersion(b []byte) bool {
	n := min(len(b), len(protocol))
	return string(b[:n]) == protocol[:n]
}

// withoutVersion cuts " HTTP/1.1" off, and the blanks around what is left: nginx
// takes any number of them. Without a version (HTTP/0.9, or a path in which a
// client wrote blanks) all of it is the path.
func withoutVersion(b []byte) []byte {
	const version = len(" HTTP/1.1")
	if n := len(b) - version; n >= 0 && b[n] == ' ' && string(b[n+1:n+6]) == protocol {
		b = b[:n]
	} else {
		b = bytes.TrimRight(b, " ")
		if n := bytes.LastIndexByte(b, ' '); n >= 0 && HasPrefix(b[n+1:], protocol) {
			b = b[:n]
		}
	}
	if len(b) > 0 && (b[0] == ' ' || b[len(b)-1] == ' ') {
		b = bytes.Trim(b, " ")
	}
	return b
}

// tokenBytes are those of a token in RFC 9110, as methods are.
var tokenBytes = func() (set [256]bool) {
	for c := range 256 {
		set[c] = IsAlnum(byte(c)) || c > ' ' && bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), byte(c)) >= 0
	}
	return set
}()

// TokenEnd returns the length of the token at the start of b, 0 if there is none.
// It may be long: nginx takes any run of upper-case letters for a method.
func TokenEnd(b []byte) int {
	n := 0
	for n < len(b) && tokenBytes[b[n]] {
		n++
	}
	return n
}

// The setters may be called again for another reading of the same line, so
// each first forgets what it knew.

// SetMethod keeps a method, unless it is the dash that servers write for none.
func (f *Fields) SetMethod(b []byte) {
	f.Known &^= edgeguard.FieldMethod
	if n := TokenEnd(b); n > 0 && n == len(b) && string(b) != "-" {
		f.method = b
		f.Known |= edgeguard.FieldMethod
	}
}

// SetPath keeps a path, unless it is the dash.
func (f *Fields) SetPath(b []byte) {
	f.Known &^= edgeguard.FieldPath
	if len(b) > 0 && string(b) != "-" {
		f.path = b
		f.Known |= edgeguard.FieldPath
	}
}

// SetURL keeps the host and the path of an absolute target, http://host:80/path,
// as load balancers and proxies write one. Any other target is a path.
func (f *Fields) SetURL(b []byte) {
	scheme := bytes.Index(b, []byte("://"))
	if scheme < 1 || bytes.IndexByte(b[:scheme], '/') >= 0 {
		f.SetPath(b)
		return
	}
	rest := b[scheme+len("://"):]
	end := bytes.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	f.SetHost(rest[:end])
	if rest = rest[end:]; len(rest) == 0 || rest[0] != '/' {
		rest = b // its path is empty, which the rules know
	}
	f.SetPath(rest)
}

// SetCutPath keeps a path whose end is missing, if the end is of its query.
func (f *Fields) SetCutPath(b []byte) {
	f.Known &^= edgeguard.FieldPath
	if bytes.IndexByte(b, '?') >= 0 {
		f.SetPath(b)
	}
}

// SetHost keeps a host. The dash means that the header was not sent: it is known,
// and empty.
func (f *Fields) SetHost(b []byte) {
	f.host = undash(b)
	f.Known |= edgeguard.FieldHost
}

// SetAgent keeps an agent; the dash is as in SetHost.
func (f *Fields) SetAgent(b []byte) {
	f.agent = undash(b)
	f.Known |= edgeguard.FieldAgent
}

// SetReferer keeps the address of the page that a request came from; the dash is as
// in SetHost.
func (f *Fields) SetReferer(b []byte) {
	f.referer = undash(b)
	f.Known |= edgeguard.FieldReferer
}

// SetStatus keeps a status of three digits.
func (f *Fields) SetStatus(v int) {
	f.Known &^= edgeguard.FieldStatus
	if v >= 100 && v <= 999 {
		f.Status = uint16(v)
		f.Known |= edgeguard.FieldStatus
	}
}

// SetPort keeps a port, unless it is out of range.
func (f *Fields) SetPort(v int) {
	f.Known &^= edgeguard.FieldPort
	if v > 0 && v <= 65535 {
		f.port = uint16(v)
		f.Known |= edgeguard.FieldPort
	}
}

func undash(b []byte) []byte {
	if len(b) == 1 && b[0] == '-' {
		return b[:0]
	}
	return b
}
