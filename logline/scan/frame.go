package scan

import (
	"bytes"

	"edgeguard"
)

// maxFrames is how many prefixes are taken off a line: a daemon's that stamps what a
// container's runtime has stamped, behind a container's name.
const maxFrames = 3

// ClientFirst is a parser whose lines may begin with what a client writes, so that no
// prefix is taken off them.
type ClientFirst interface {
	ClientFirst() bool
}

// ParseLine reads a line of any format. Where the line itself does not fit, what a daemon or a
// container's runtime wrote before it is taken off: all of that comes before anything that a
// client writes. So nothing is taken off a line that was read up to its client's address. What is empty behind it says nothing.
func ParseLine(p LineParser, line []byte, ev *edgeguard.Event) Reason {
	why := p.Parse(line, ev)
	if why == Read || why == Aside {
		return why
	}
	return unframed(p, nil, why, line, ev)
}

// ParseLong is [ParseLine] for a line that is longer than [MaxLine].
func ParseLong(p LineParser, line []byte, ev *edgeguard.Event) Reason {
	if head, ok := p.(HeadParser); ok {
		return ParseHead(p, head, line[:MaxLine], ev)
	}
	s := p.(Streamer).Stream()
	s.Feed(line)
	return s.End(ev)
}

// ParseHead is [ParseLine] for the beginning of a line; head is the parser, too.
func ParseHead(p LineParser, head HeadParser, line []byte, ev *edgeguard.Event) Reason {
	return unframed(p, head, head.Head(line, ev), line, ev)
}

// unframed reads a line that was not read as it is. Head is nil for a whole line.
func unframed(p LineParser, head HeadParser, why Reason, line []byte, ev *edgeguard.Event) Reason {
	if c, ok := p.(ClientFirst); ok && c.ClientFirst() || p.Sure().IsValid() || why == TwoWays {
		return why // nothing stands before it, or the rest is a client's
	}
	dated, _ := p.(Dated)
	rest := line
	for range maxFrames {
		if why == Read || why == CutShort || why == Aside {
			break
		}
		n := SyslogPrefix(rest)
		if n == 0 {
			break
		}
		rest = rest[n:]
		if dated != nil {
			dated.SetHeader(line[:len(line)-len(rest)])
		}
		if head != nil {
			why = head.Head(rest, ev)
		} else {
			why = p.Parse(rest, ev)
		}
	}
	if dated != nil {
		dated.SetHeader(nil)
	}
	if why != Read && why != CutShort && why != Aside && IsEmpty(rest) {
		return Aside
	}
	return why
}

// IsEmpty reports whether a line is nothing but what precedes a message, whose last blank may
// be missing.
func IsEmpty(line []byte) bool {
	var room [512]byte
	line = bytes.TrimRight(line, " \r")
	if len(line) >= len(room) {
		return false
	}
	for len(line) > 0 {
		n := SyslogPrefix(append(append(room[:0], line...), ' '))
		if n == 0 {
			return false
		}
		line = line[min(n, len(line)):]
	}
	return true
}

// Suppresses is a parser that knows of the last line how many lines it says were suppressed, because
// another program than the line itself names the daemon.
type Suppresses interface {
	Suppressed() uint64
}

// suppressions are how daemons say that a limit of theirs cost lines (journald's RateLimitBurst, rsyslog's
// SysSock.RateLimit and imjournal's Ratelimit).
var suppressions = []struct{ daemon, before, after string }{
	{"systemd-journal", "Suppressed ", " messages from "},
	{"rsyslogd", "lost ", " messages from "},
	{"rsyslogd", ": ", " messages lost due to rate-limiting"},
}

// Suppressed returns how many lines a daemon's line says were suppressed, 0 if it says nothing of that. The
// header names the daemon.
func Suppressed(header, text []byte) uint64 {
	for _, s := range suppressions {
		if !bytes.Contains(header, []byte(s.daemon)) {
			continue
		}
		after := max(bytes.Index(text, []byte(s.after)), 0)
		from, v := after, 0
		for from > 0 && after-from < 9 && IsDigit(text[from-1]) {
			from--
		}
		if Number(text[from:], after-from, &v) > 0 && bytes.HasSuffix(text[:from], []byte(s.before)) {
			return uint64(v)
		}
	}
	return 0
}

// AfterMark returns the index after a byte order mark that may be at n.
func AfterMark(b []byte, n int) int {
	if HasPrefix(b[n:], "\xEF\xBB\xBF") {
		return n + 3
	}
	return n
}
