package formats

import (
	"bytes"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/logline/scan"
)

// haproxyParser reads HAProxy's httplog, with or without the syslog prefix:
//
//	192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main app/app1 1939/0/1/0/1940 403 5168 - - ---- 3/3/0/0/0 0/0 {…} "GET / HTTP/1.1"
//
// and the log-format that edgeguard prints for HAProxy, which differs before the captured headers: edgeguard{host|referer|agent}.
//
// The address, the time and the status come before anything that a client
// writes (https://docs.haproxy.org/3.0/configuration.html, 8.2.3).
type haproxyParser struct {
	scan.Clock
	addr netip.Addr // of the last line
}

// NewHAProxy returns the parser of one log in HAProxy's httplog or httpslog. Zone is that of times that name none.
func NewHAProxy(zone *time.Location) scan.LineParser {
	return &haproxyParser{Clock: scan.Clock{Zone: zone}}
}

func (p *haproxyParser) Sure() netip.Addr { return p.addr }

// Head is parse: lines that HAProxy has cut are usual.
func (p *haproxyParser) Head(line []byte, ev *edgeguard.Event) scan.Reason { return p.Parse(line, ev) }

func (p *haproxyParser) Parse(line []byte, ev *edgeguard.Event) scan.Reason {
	header := scan.SyslogPrefix(line)
	if header == 0 { // or a priority alone, which is HAProxy's log format priority
		return p.message(line[scan.Priority(line):], false, ev)
	}
	if (line[scan.Priority(line)]|0x20)-'a' < 26 { // the name of a month, or of a container: no zone
		return p.message(line[header:], header > 0, ev)
	}
	p.SetHeader(line[:header])
	why := p.message(line[header:], true, ev)
	p.SetHeader(nil)
	return why
}

// message reads what is behind the header, if there is one.
func (p *haproxyParser) message(line []byte, headed bool, ev *edgeguard.Event) scan.Reason {
	p.addr = netip.Addr{}
	f := scan.Fields{Raw: true} // it writes a backslash as it is
	end := bytes.IndexByte(line, ' ')
	if end < 0 {
		return scan.NotTheFormat
	}
	addr, ok := scan.AddrWithPort(line[:end])
	if !ok {
		if scan.HasPrefix(line, "unix:") {
			return scan.UnixSocket
		}
		if headed && isHAProxyOwn(line) {
			return scan.Aside
		}
		return scan.BadAddr
	}
	f.Addr, p.addr = addr, addr
	line = line[end+1:]
	if !scan.HasPrefix(line, "[") {
		return scan.NotTheFormat
	}
	at, n, ok := p.Clock.CLF(line[1:])
	if !ok || !scan.HasPrefix(line[1+n:], "] ") {
		return scan.BadTime
	}
	f.At = at
	line = line[n+3:]
	for range 3 { // frontend, backend/server, timers
		if end = bytes.IndexByte(line, ' '); end < 0 {
			return scan.NotTheFormat
		}
		line = line[end+1:]
	}
	status := 0
	if n := scan.Number(line, 3, &status); n == 3 && scan.HasPrefix(line[n:], " ") {
		f.SetStatus(status)
	} else if !scan.HasPrefix(line, "-1 ") {
		return scan.NotTheFormat // the tcplog has no status
	}
	haproxyCaptures(&f, line)
	f.Request, f.Cut = haproxyRequest(line)
	return f.Event(ev)
}

// HAProxyCaptures tells edgeguard's own log-format from others.
const HAProxyCaptures = "edgeguard%hr"

// haproxyCaptures sets the headers of a line in edgeguard's own log-format, from its status on:
//
//	403 5168 - - ---- 3/3/0/0/0 0/0 edgeguard{example.org||curl/8.5#7C} "GET / HTTP/1.1"
//
// HAProxy writes braces, bars and quotes of a client as #hh. The two dashes are in place of cookies,
// which it writes as they came. Who captures more headers does that before these three.
func haproxyCaptures(f *scan.Fields, line []byte) {
	const mark = " edgeguard{"
	from := bytes.IndexByte(line, '{') + 1
	if from < len(mark) || string(line[from-len(mark):from]) != mark { // as in most logs
		return
	}
	head := line[:from-len(mark)]
	for i := range 7 {
		word, rest := cutWord(head)
		if head = rest; len(word) == 0 || (i == 2 || i == 3) && string(word) != "-" {
			return
		}
	}
	end := bytes.IndexByte(line[from:], '}')
	if end < 0 || len(head) > 0 {
		return
	}
	list := line[from : from+end]
	for _, part := range [...]scan.LinePart{scan.PartAgent, scan.PartReferer, scan.PartHost} {
		bar := bytes.LastIndexByte(list, '|')
		f.Set(part, scan.Unhash(list[bar+1:]))
		list = list[:max(bar, 0)]
	}
}

// haproxyRequest returns the request, and whether its target is cut short.
//
// HAProxy cuts the line (log … len, 1024 unless it is set), the closing quote
// included, or the request (tune.http.logurilen, 1024), which then ends before
// its version. It refuses a request without one, and blanks in a target.
func haproxyRequest(line []byte) (request []byte, cut bool) {
	request, closed := haproxyQuoted(line)
	if n := len(request) - len(" HTTP/1.1"); n > 0 && isVersion(request[n:]) && closed {
		if request[n+len(" HTTP/")] != '1' {
			begin, end, _ := scan.Origin(request)
			request = append(request[:begin], request[end:]...)
		}
		return scan.Unhash(request), false
	}
	if closed && (len(request) == 0 || string(request) == "<BADREQ>") {
		return nil, false
	}
	end := scan.TokenEnd(request)
	if end == len(request) {
		return nil, true
	}
	if _, _, odd := scan.Origin(request); odd {
		return request[:end+2], true // there is a target, but where its path begins depends on the version
	}
	if n := bytes.IndexByte(request[end+1:], ' '); n >= 0 {
		if !closed || !isVersion(request[end+1+n:]) {
			request = request[:end+1+n] // what is missing is of the version
		}
		return scan.Unhash(request), false
	}
	return scan.Unhash(request), true
}

func isVersion(b []byte) bool { return len(b) == len(" HTTP/1.1") && scan.HasPrefix(b, " HTTP/") }

// haproxyQuoted returns what is in quotes, and whether they are closed. HAProxy
// writes a client's quote as #22, so that they are its own; only in the httpslog
// more follows, in part written by a client.
func haproxyQuoted(line []byte) (quoted []byte, closed bool) {
	last := len(line) - 1
	if line[last] == '"' {
		if first := bytes.LastIndexByte(line[:last], '"'); first >= 0 {
			return line[first+1 : last], true
		}
	}
	_, after, found := bytes.Cut(line, []byte(` "`))
	if !found {
		return nil, false
	}
	if end := bytes.IndexByte(after, '"'); end >= 0 {
		return after[:end], true
	}
	return after, false
}
