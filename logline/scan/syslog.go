package scan

import (
	"bytes"
	"time"
)

// SyslogPrefix returns the length of the prefix that a syslog daemon, journalctl or a
// container runtime wrote before the message, 0 if there is none:
//
//	<190>Nov 21 09:54:00 web1 nginx:
//	Nov  1 09:54:00.123456 web1 haproxy[760]:
//	Nov 21 09:54:00 <local7.info> web1 nginx:
//	Nov 21 09:54:00 web1 local7.info nginx:
//	2026-11-21T09:54:00.123+01:00 web1 haproxy[760]:
//	Sat 2026-11-21 09:54:00 CET web1 haproxy[760]:
//	1795254840.123456 web1 haproxy[760]:
//	<134>1 2026-11-21T09:54:00Z web1 haproxy 760 - -
//	2026-11-21T09:54:00.123Z stdout F
//	2026-11-21T09:54:00.123456789Z
//	web-1  |
//
// A byte order mark behind it is part of it (RFC 5424, 6.4). All of it comes before anything
// that a client writes.
func SyslogPrefix(line []byte) int {
	if n := prefix(line); n > 0 {
		return AfterMark(line, n)
	}
	return 0
}

func prefix(line []byte) int {
	if n := Container(line); n > 0 {
		return n
	}
	n := Priority(line)
	if n > 0 && HasPrefix(line[n:], "1 ") {
		return modernPrefix(line, n+2)
	}
	stamp := syslogTime(line[n:])
	if stamp == 0 {
		return 0
	}
	if n += stamp; n < len(line) && line[n] == '<' { // FreeBSD's syslogd -v
		n += max(bytes.IndexByte(line[n:min(len(line), n+32)], ' ')+1, 0)
	}
	word := wordEnd(line, n)
	if word > 0 && !endsTag(line[n:word]) { // that was the host, and now the tag
		n, word = word, wordEnd(line, word)
		if word > 0 && bytes.IndexByte(line[n:word], '.') > 0 && !endsTag(line[n:word]) { // BusyBox
			n, word = word, wordEnd(line, word)
		}
	}
	if word < 0 || !endsTag(line[n:word]) {
		return 0
	}
	return word
}

// endsTag reports whether a word, with its blank, is a program's name with a colon: and not
// the name in a JSON object, nor an address such as 2001:db8::.
func endsTag(word []byte) bool {
	n := len(word)
	return n > 2 && word[n-2] == ':' && word[n-3] != ':' && bytes.IndexByte(word, '"') < 0
}

// Container returns the length of what a container's runtime writes before a line, 0 if there
// is nothing of that: a name, a stamp with its stream, or a stamp alone, which has nanoseconds
// (docker logs -t, kubectl logs --timestamps).
func Container(line []byte) int {
	if n := ContainerName(line); n > 0 {
		return n
	}
	if len(line) < 20 || line[4] != '-' || line[10] != 'T' {
		return 0
	}
	c := Clock{Zone: time.UTC}
	t, n, ok := c.ISO(line)
	if !ok || n >= len(line) || line[n] != ' ' {
		return 0
	}
	n++
	if stream := StreamName(line[n:]); stream > 0 {
		return n + stream
	}
	if len("2006-01-02T15:04:05.") != bytes.IndexByte(line, '.')+1 || t.bare || n != len("2006-01-02T15:04:05.123456789Z ") && n != len("2006-01-02T15:04:05.123456789+01:00 ") {
		return 0
	}
	return n
}

// ContainerName returns the length of what docker compose writes before a container's
// line, or kubectl logs --prefix, 0 if there is nothing of that:
//
//	web-1  |
//	[pod/web-6f/nginx]
//
// The name begins with a letter, so that it is no address.
func ContainerName(line []byte) int {
	if len(line) == 0 {
		return 0
	}
	if HasPrefix(line, "[pod/") {
		end := bytes.Index(line[:min(len(line), 512)], []byte("] "))
		if end < 0 || bytes.IndexByte(line[:end], ' ') >= 0 {
			return 0
		}
		return end + 2
	}
	if (line[0]|0x20)-'a' > 'z'-'a' {
		return 0
	}
	n := 1
	for n < len(line) && n < 256 && (IsAlnum(line[n]) || line[n] == '-' || line[n] == '_' || line[n] == '.') {
		n++
	}
	blank := n
	for n < len(line) && n < 256 && line[n] == ' ' {
		n++
	}
	if n == blank || !HasPrefix(line[n:], "| ") {
		return 0
	}
	return n + 2
}

// StreamName returns the length of what a container runtime writes after its
// stamp, 0 if there is nothing of that.
func StreamName(line []byte) int {
	for _, stream := range []string{"stdout F ", "stderr F ", "stdout P ", "stderr P "} {
		if HasPrefix(line, stream) {
			return len(stream)
		}
	}
	return 0
}

// Piece returns the length of what a container runtime writes before a line, the
// name of the stream in it, and whether the line goes on in the stream's next one:
// the runtime cuts a line every 16 KiB. The length is 0 if there is nothing of that.
func Piece(line []byte) (n int, stream []byte, goesOn bool) {
	if len(line) < len("2006-01-02T15:04:05Z stdout P ") || line[4] != '-' || line[10] != 'T' {
		return 0, nil, false
	}
	end := bytes.IndexByte(line[:min(len(line), 40)], ' ') + 1
	n = StreamName(line[end:])
	if end == 0 || n == 0 {
		return 0, nil, false
	}
	return end + n, line[end : end+len("stdout")], line[end+len("stdout ")] == 'P'
}

// Priority returns the length of <190>.
func Priority(line []byte) int {
	if len(line) == 0 || line[0] != '<' {
		return 0
	}
	n := 1
	for n < len(line) && n < 4 && IsDigit(line[n]) {
		n++
	}
	if n == 1 || n >= len(line) || line[n] != '>' {
		return 0
	}
	return n + 1
}

// syslogTime returns the length of a stamp and the blank after it.
func syslogTime(b []byte) (n int) {
	ok := false
	switch c := (Clock{Zone: time.UTC}); {
	case len(b) > 16 && b[3] == ' ' && b[6] == ' ' && b[9] == ':' && b[12] == ':' && (b[15] == ' ' || b[15] == '.'):
		if _, ok = monthOf(b); ok && b[15] == '.' {
			_, n = fraction(b, 16)
		} else {
			n = 15
		}
	case len(b) < 20:
	case b[4] == '-':
		_, n, ok = c.ISO(b)
	case b[3] == ' ' && b[8] == '-': // journalctl -o short-full
		_, n, ok = c.stamp(b)
	case b[10] == '.' && b[17] == ' ': // journalctl -o short-unix
		_, n, ok = UnixNumber(b, 1)
	}
	if !ok || n >= len(b) || b[n] != ' ' {
		return 0
	}
	return n + 1
}

// modernPrefix is that of RFC 5424: time, host, program, process, message id,
// structured data.
func modernPrefix(line []byte, n int) int {
	for range 5 {
		if n = wordEnd(line, n); n < 0 {
			return 0
		}
	}
	if n == len(line) {
		return 0
	}
	if line[n] == '-' {
		n++
	} else if n = structured(line, n); n < 0 {
		return 0
	}
	if n == len(line) {
		return n // an empty message
	}
	if line[n] != ' ' {
		return 0
	}
	return n + 1
}

// structured returns the index after the elements of structured data that begin at n, -1 if
// there are none: [id name="value"], in whose values quotes, brackets and backslashes are
// escaped.
func structured(line []byte, n int) int {
	for n < len(line) && line[n] == '[' {
		for n++; n < len(line) && line[n] != ']'; n++ {
			if line[n] == '"' {
				if n = QuoteEnd(line, n+1); n < 0 {
					return -1
				}
			}
		}
		if n++; n > len(line) || n < len(line) && line[n] == ' ' {
			break
		}
	}
	if n > len(line) || line[n-1] != ']' {
		return -1
	}
	return n
}

// wordEnd returns the index after the word that begins at n and its blank, or
// -1. No word of a prefix is longer than a host name may be.
func wordEnd(line []byte, n int) int {
	end := bytes.IndexByte(line[n:min(len(line), n+256)], ' ')
	if end < 1 {
		return -1
	}
	return n + end + 1
}
