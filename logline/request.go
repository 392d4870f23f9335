package logline

import (
	"bytes"

	"edgeguard"
)

// splitRequest takes a request line apart. What is no request line (an empty
// one, a TLS hello, a worm's bytes) leaves method and path unknown; the event
// counts all the same.
func (f *fields) splitRequest() {
	n := tokenEnd(f.request)
	if n == 0 || n == len(f.request) || f.request[n] != ' ' {
		return
	}
	f.method = f.request[:n]
	target := f.request[n+1:]
	if f.cut {
		f.known |= edgeguard.FieldMethod
		f.setCutPath(bytes.TrimLeft(target, " "))
		return
	}
	if target = withoutVersion(target); len(target) == 0 {
		return
	}
	f.path = target
	f.known |= edgeguard.FieldMethod | edgeguard.FieldPath
}

// withoutVersion cuts " HTTP/1.1" off, and the blanks around what is left: nginx
// takes any number of them. Without a version (HTTP/0.9, or a path in which a
// client wrote blanks) all of it is the path.
func withoutVersion(b []byte) []byte {
	const version = len(" HTTP/1.1")
	if n := len(b) - version; n >= 0 && b[n] == ' ' && string(b[n+1:n+6]) == "HTTP/" {
		b = b[:n]
	} else {
		b = bytes.TrimRight(b, " ")
		if n := bytes.LastIndexByte(b, ' '); n >= 0 && hasPrefix(b[n+1:], "HTTP/") {
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
		set[c] = isAlnum(byte(c)) || c > ' ' && bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), byte(c)) >= 0
	}
	return set
}()

// tokenEnd gives the length of the token at the start of b, 0 if there is none.
// It may be long: nginx takes any run of upper-case letters for a method.
func tokenEnd(b []byte) int {
	n := 0
	for n < len(b) && tokenBytes[b[n]] {
		n++
	}
	return n
}

// The setters may be called again for another reading of the same line, so
// each first forgets what it knew.

// setMethod keeps a method, unless it is the dash that servers write for none.
func (f *fields) setMethod(b []byte) {
	f.known &^= edgeguard.FieldMethod
	if n := tokenEnd(b); n > 0 && n == len(b) && string(b) != "-" {
		f.method = b
		f.known |= edgeguard.FieldMethod
	}
}

func (f *fields) setPath(b []byte) {
	f.known &^= edgeguard.FieldPath
	if len(b) > 0 && string(b) != "-" {
		f.path = b
		f.known |= edgeguard.FieldPath
	}
}

// setCutPath keeps a path of which the end is missing, if that is of its query.
func (f *fields) setCutPath(b []byte) {
	f.known &^= edgeguard.FieldPath
	if bytes.IndexByte(b, '?') >= 0 {
		f.setPath(b)
	}
}

// setHost and setAgent take the dash for a header that was not sent: that is
// known, and empty.
func (f *fields) setHost(b []byte) {
	f.host = undash(b)
	f.known |= edgeguard.FieldHost
}

func (f *fields) setAgent(b []byte) {
	f.agent = undash(b)
	f.known |= edgeguard.FieldAgent
}

func (f *fields) setNode(b []byte) {
	f.node = undash(b)
	f.known |= edgeguard.FieldNode
}

func (f *fields) setStatus(v int) {
	f.known &^= edgeguard.FieldStatus
	if v >= 100 && v <= 999 {
		f.status = uint16(v)
		f.known |= edgeguard.FieldStatus
	}
}

func (f *fields) setPort(v int) {
	f.known &^= edgeguard.FieldPort
	if v > 0 && v <= 65535 {
		f.port = uint16(v)
		f.known |= edgeguard.FieldPort
	}
}

func undash(b []byte) []byte {
	if len(b) == 1 && b[0] == '-' {
		return b[:0]
	}
	return b
}
