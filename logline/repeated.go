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
//	Nov 27 10:00:20 web-1 sshd: Last message 'Failed password for ' repeated 5 times, suppressed by syslog-ng on web-1
const (
	repeatedBody   = "message repeated "
	repeatedLast   = "last message repeated "
	repeatedQuoted = "Last message '"
	timesBody      = " times: ["
	timesLast      = " times"
	timesQuoted    = "pressed by syslog-ng on " // once it was "supressed"

	// mostQuoted is how much syslog-ng quotes of a line, and mostKept what is kept of one, its header included.
	mostQuoted = 20
	mostKept   = 512

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
	if !bytes.Contains(line, []byte(" repeated ")) || scan.Container(line) > 0 {
		return 0, scan.Read
	}
	if first, ok := l.parser.(scan.ClientFirst); ok && first.ClientFirst() {
		return 0, scan.Read
	}
	last, head := len(line)-1, scan.SyslogPrefix(line)
	if line[last] != ']' || head == 0 || !scan.HasPrefix(line[head:], repeatedBody) {
		return l.lastRepeated(c, line, firstEvent, ev)
	}
	times, n := scan.Digits(line[head+len(repeatedBody):], 6)
	body := head + len(repeatedBody) + n
	if times == 0 || !scan.HasPrefix(line[body:], timesBody) {
		return 0, scan.Read
	}
	if body += len(timesBody); line[body] == ' ' {
		body++
	}
	copy(line[body-head:], line[:head]) // the header comes to stand before the body
	return min(times, mostRepeated), scan.ParseLine(l.parser, line[body-head:last], ev)
}

// lastRepeated reads a line that says how often the one before it came again. It counts if that
// was counted, is the line before it in this file, and is of the same host.
func (l *Parser) lastRepeated(c *Chunk, line []byte, firstEvent uint64, ev *edgeguard.Event) (times int, why scan.Reason) {
	own := uint64(len(c.Events) - 1) // the room for this line's event
	var before []byte
	var counted *edgeguard.Event
	switch {
	case own > 0 && firstEvent+own-1+l.ahead == l.lines-1:
		before, counted = lineBefore(c.Text, line), &c.Events[own-1]
	case own == 0 && l.last != nil && l.lastIn == c.Origin && l.lines-1 == l.lastLine:
		before, counted = l.lastText, l.last
	default:
		return 0, scan.Read
	}
	head, text := daemonHeader(before)
	host, program := writer(head)
	again, said := daemonHeader(line)
	hostAgain, programAgain := writer(again)
	if len(again) == 0 || !bytes.Equal(host, hostAgain) {
		return 0, scan.Read
	}
	if scan.HasPrefix(said, repeatedLast) {
		times, n := scan.Digits(said[len(repeatedLast):], 6)
		if end := string(said[len(repeatedLast)+n:]); times > 0 && (end == timesLast || times == 1 && end == " time") {
			*ev = *counted
			return min(times, mostRepeated), scan.Read
		}
		return 0, scan.Read
	}
	text = text[:min(len(text), mostQuoted)]
	quoted := repeatedQuoted + string(text) + "' repeated "
	if !scan.HasPrefix(said, quoted) || !bytes.Equal(program, programAgain) {
		return 0, scan.Read
	}
	times, n := scan.Digits(said[len(quoted):], 6)
	if times == 0 || !bytes.Contains(said[len(quoted)+n:], []byte(timesQuoted)) {
		return 0, scan.Read
	}
	*ev = *counted
	return min(times, mostRepeated), scan.Read
}

// lineBefore returns the line before one of a text. The line is a part of the text, up to the end of whose room
// it could grow: that is where it begins.
func lineBefore(text, line []byte) []byte {
	before := text[:max(0, bytes.LastIndexByte(text[:cap(text)-cap(line)], '\n'))]
	return trim(before[bytes.LastIndexByte(before, '\n')+1:])
}

// daemonHeader takes the header of a syslog daemon off a line. One before "last message repeated" lacks the tag, or has
// the daemon's: any other program may print what a client sends.
func daemonHeader(line []byte) (head, text []byte) {
	if at := bytes.LastIndex(line[:min(len(line), mostKept)], []byte(" "+repeatedLast)) + 1; at > 0 {
		head := bytes.TrimSuffix(bytes.TrimSuffix(line[:at], []byte(" rsyslogd: ")), []byte(" syslogd: "))
		if head = append(bytes.Clone(bytes.TrimSuffix(head, []byte(" "))), " x: "...); scan.SyslogPrefix(head) == len(head) {
			return head, line[at:]
		}
		return nil, nil
	}
	n := scan.SyslogPrefix(line)
	return line[:n], line[n:]
}

// writer returns the host in a header of syslog, and the program.
func writer(head []byte) (host, program []byte) {
	words := bytes.Fields(head)
	if n := scan.Priority(head); n > 0 && scan.HasPrefix(head[n:], "1 ") && len(words) > 3 {
		return words[2], words[3]
	}
	if len(words) < 2 {
		return nil, nil
	}
	program, _, _ = bytes.Cut(words[len(words)-1], []byte("["))
	return words[len(words)-2], bytes.TrimSuffix(program, []byte(":"))
}

// suppressed returns how many lines a line says were suppressed. Nobody knows which, so that they count for nobody.
func (l *Parser) suppressed(line []byte) uint64 {
	if in, ok := l.parser.(scan.Suppresses); ok {
		return in.Suppressed()
	}
	if !bytes.Contains(line, []byte(" messages ")) || scan.Container(line) > 0 {
		return 0
	}
	n := scan.SyslogPrefix(line)
	return scan.Suppressed(line[:n], line[n:])
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
	if c.Origin == nil || n == 0 || firstEvent+n-1+l.ahead != l.lines {
		return
	}
	line = trim(line)
	if head, _ := daemonHeader(line); len(head) == 0 {
		return
	}
	l.lastText = bytes.Clone(line[:min(len(line), mostKept)])
	ev := c.Events[n-1]
	ev.KeepTexts(strings.Clone)
	l.last = &ev
}
