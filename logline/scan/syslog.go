package scan

import (
	"bytes"
	"time"
)

// SyslogPrefix returns the length of the prefix that a syslog daemon or a
// container runtime wrote before the message, 0 if there is none:
//
//	<190>Nov 21 09:54:00 web1 nginx:
//	Nov  1 09:54:00 web1 haproxy[760]:
//	2026-11-21T09:54:00.123+01:00 web1 haproxy[760]:
//	<134>1 2026-11-21T09:54:00Z web1 haproxy 760 - -
//	2026-11-21T09:54:00.123Z stdout F
//	web-1  |
//
// All of it comes before anything that a client writes.
func SyslogPrefix(line []byte) int {
	if n := ContainerName(line); n > 0 {
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
	n += stamp
	if stream := StreamName(line[n:]); stream > 0 {
		return n + stream
	}
	word := wordEnd(line, n)
	if word < 0 {
		return 0
	}
	if line[word-2] != ':' { // that was the host, and now the tag
		if word = wordEnd(line, word); word < 0 || line[word-2] != ':' {
			return 0
		}
	}
	return word
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

// syslogTime returns the length of either stamp and the blank after it.
func syslogTime(b []byte) int {
	if len(b) > 16 && b[3] == ' ' && b[6] == ' ' && b[9] == ':' && b[12] == ':' && b[15] == ' ' {
		if _, ok := monthOf(b); ok {
			return 16
		}
	}
	c := Clock{Zone: time.UTC}
	_, n, ok := c.ISO(b)
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
	if n < len(line) && line[n] == '[' {
		end := bytes.Index(line[n:], []byte("] "))
		if end < 0 {
			return 0
		}
		return n + end + 2
	}
	if !HasPrefix(line[n:], "- ") {
		return 0
	}
	return n + 2
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
