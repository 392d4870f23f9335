package scan

import (
	"bytes"

	"edgeguard"
)

// Unhash undoes the fields' escapes as HAProxy writes them, #hh, and takes scheme and authority
// off a target that a client sent apart from them.
func (f *Fields) Unhash() {
	f.Raw = true
	if n := len(f.Request) - len("HTTP/1.1"); n > 0 && HasPrefix(f.Request[n:], protocol) && f.Request[n+len(protocol)] != '1' {
		begin, end, _ := Origin(f.Request)
		f.Request = append(f.Request[:begin], f.Request[end:]...)
	}
	f.Request = Unhash(f.Request)
	if f.Known&edgeguard.FieldPath == 0 {
		return
	}
	if f.path = Unhash(f.path); string(f.path) == "<BADREQ>" {
		f.Known &^= edgeguard.FieldPath
	}
	if _, end, odd := Origin(append([]byte("GET "), f.path...)); end > len("GET ") && !odd {
		f.path = f.path[end-len("GET "):]
	}
}

// Origin finds scheme and authority at the beginning of a request's target, at most as far
// as the blank behind it; end is begin where there are none. odd says that they
// hold what ends an authority in a target that a client wrote as one.
//
// In HTTP/2 and 3 a client sends scheme, authority and path apart. HAProxy writes
// them as one, but passes on the path alone, whatever the authority holds.
func Origin(request []byte) (begin, end int, odd bool) {
	begin = min(TokenEnd(request)+1, len(request))
	target := request[begin:]
	if blank := bytes.IndexByte(target, ' '); blank >= 0 {
		target = target[:blank]
	}
	scheme, rest, found := bytes.Cut(target, []byte("://"))
	if !found || !bytes.EqualFold(scheme, []byte("https")) && !bytes.EqualFold(scheme, []byte("http")) {
		return begin, begin, false // HAProxy passes on all of it
	}
	if end = bytes.IndexByte(rest, '/'); end < 0 {
		return begin, begin, bytes.ContainsAny(rest, "?#")
	}
	return begin, begin + len(scheme) + len("://") + end, bytes.ContainsAny(rest[:end], "?#")
}

// Unhash undoes HAProxy's escape #hh, in place.
func Unhash(b []byte) []byte {
	r := bytes.IndexByte(b, '#')
	if r < 0 {
		return b
	}
	w := r
	for r < len(b) {
		if b[r] == '#' && r+2 < len(b) && IsHex(b[r+1]) && IsHex(b[r+2]) {
			b[w] = HexValue(b[r+1])<<4 | HexValue(b[r+2])
			r += 2
		} else {
			b[w] = b[r]
		}
		r, w = r+1, w+1
	}
	return b[:w]
}

// RingDropped returns how many messages HAProxy says its ring had no room for, 0 if a message of
// syslog is not about that: "<133>17 events dropped".
func RingDropped(message []byte) uint64 {
	n := Priority(message)
	v, digits := Digits(message[n:], 9)
	if rest := string(message[n+digits:]); n == 0 || rest != " event dropped" && rest != " events dropped" {
		return 0
	}
	return uint64(v)
}
