package logline

import (
	"bytes"
	"strings"

	"edgeguard"
	"edgeguard/logline/scan"
)

// Syslog daemons write a line that comes again and again once, and then how many more there
// were (rsyslog's $RepeatedMsgReduction, which is on in Ubuntu):
//
//	Nov 27 10:00:20 web-1 sshd[17]: message repeated 5 times: [ Failed password for …]
//	Nov 27 10:00:20 web-1 last message repeated 5 times
const (
	repeatedBody = "message repeated "
	repeatedLast = "last message repeated "
	timesBody    = " times: ["
	timesLast    = " times"

	// mostRepeated bounds what one line may count for, and mostCopies the events that a chunk
	// has beside its lines' own; beyond these one event counts for several.
	mostRepeated = 1000
	mostCopies   = 32 << 10
)

// repeated reads a line that says how often another came, and returns how often; 0 if it says
// nothing of that. The event and why are then those of the other line.
//
// The words must be where a daemon's header ends, which no client can write into; behind what a
// container's runtime writes, a program may print what clients send.
func (l *Parser) repeated(c *Chunk, line []byte, firstEvent uint64, ev *edgeguard.Event) (times int, why scan.Reason) {
	last := len(line) - 1
	if last < len(repeatedBody) || line[last] != ']' && line[last] != 's' && line[last] != 'e' || len(line) > MaxLine || scan.Container(line) > 0 {
		return 0, scan.Read
	}
	if first, ok := l.parser.(scan.ClientFirst); ok && first.ClientFirst() {
		return 0, scan.Read
	}
	if line[last] != ']' {
		return l.lastRepeated(c, line, firstEvent, ev)
	}
	head := scan.SyslogPrefix(line)
	if head == 0 || !scan.HasPrefix(line[head:], repeatedBody) {
		return 0, scan.Read
	}
	times, n := number(line[head+len(repeatedBody):])
	body := head + len(repeatedBody) + n
	if times == 0 || !scan.HasPrefix(line[body:], timesBody) {
		return 0, scan.Read
	}
	if body += len(timesBody); line[body] == ' ' {
		body++
	}
	copy(line[body-head:], line[:head]) // the header comes to stand before the body
	return times, scan.ParseLine(l.parser, line[body-head:last], ev)
}

// lastRepeated reads a line that says how often the one before it came again. It counts if that
// was counted, and is the line before it in this file.
func (l *Parser) lastRepeated(c *Chunk, line []byte, firstEvent uint64, ev *edgeguard.Event) (times int, why scan.Reason) {
	at := bytes.LastIndex(line, []byte(repeatedLast))
	if at <= 0 || at > 256 {
		return 0, scan.Read
	}
	times, n := number(line[at+len(repeatedLast):])
	if end := string(line[at+len(repeatedLast)+n:]); times == 0 || end != timesLast && (times > 1 || end != " time") {
		return 0, scan.Read
	}
	// The header lacks a tag, or has the daemon's: any other program may print what a client sends.
	head := bytes.TrimSuffix(bytes.TrimSuffix(line[:at], []byte(" rsyslogd: ")), []byte(" syslogd: "))
	tagged := append(bytes.Clone(bytes.TrimSuffix(head, []byte(" "))), " x: "...)
	if scan.SyslogPrefix(tagged) != len(tagged) {
		return 0, scan.Read
	}
	own := uint64(len(c.Events) - 1) // the room for this line's event
	switch {
	case own > 0 && firstEvent+own-1+l.ahead == l.lines-1:
		*ev = c.Events[own-1]
	case own == 0 && l.last != nil && l.lastIn == c.Origin && l.lines-1 == l.lastLine:
		*ev = *l.last
	default:
		return 0, scan.Read
	}
	return times, scan.Read
}

// number reads a count of times, at most mostRepeated.
func number(b []byte) (v, n int) {
	for n < len(b) && n < 6 && scan.IsDigit(b[n]) {
		v = v*10 + int(b[n]-'0')
		n++
	}
	return min(v, mostRepeated), n
}

// again adds the chunk's last event as often as its line says, once being there.
func (l *Parser) again(c *Chunk, line []byte, times int, firstEvent uint64) {
	at := len(c.Events) - 1
	if c.copies+times > mostCopies {
		c.Events[at].Hits = uint16(times)
		return
	}
	c.copies += times - 1
	for range times - 1 {
		c.Events = grow(c.Events)
		c.Events[len(c.Events)-1] = c.Events[at]
		l.note(c, line, scan.Read, firstEvent)
	}
}

// keepLast keeps the event of the chunk's last line, if that has a daemon's header: the next
// chunk may begin with how often it came.
func (l *Parser) keepLast(c *Chunk, line []byte, firstEvent uint64) {
	if c.Origin == l.lastIn && l.lines == l.lastLine {
		return // no line since
	}
	l.last, l.lastLine, l.lastIn = nil, l.lines, c.Origin
	n := uint64(len(c.Events))
	byDaemon := scan.SyslogPrefix(line) > 0 || bytes.HasSuffix(line, []byte(timesLast))
	if c.Origin == nil || n == 0 || firstEvent+n-1+l.ahead != l.lines || !byDaemon {
		return
	}
	ev := c.Events[n-1]
	for _, text := range []*string{&ev.Host, &ev.Method, &ev.Path, &ev.Agent, &ev.Node, &ev.Referer, &ev.FetchSite} {
		*text = strings.Clone(*text)
	}
	l.last = &ev
}
