package accesslog

import (
	"bytes"

	"edgeguard"
)

// haproxyParser reads HAProxy's httplog, with or without the syslog prefix:
//
//	192.0.2.1:58444 [14/Nov/2015:22:45:25.439] main app/app1 1939/0/1/0/1940 403 5168 - - ---- 3/3/0/0/0 0/0 {…} "GET / HTTP/1.1"
//
// The address, the time and the status stand before anything that a client
// writes. (https://docs.haproxy.org/3.0/configuration.html, 8.2.3)
type haproxyParser struct{ clock clock }

func newHAProxyParser(o *Options) *haproxyParser {
	return &haproxyParser{clock{zone: o.zone()}}
}

func (p *haproxyParser) parse(line []byte, ev *edgeguard.Event) reason {
	line = line[syslogPrefix(line):]
	var f fields
	end := bytes.IndexByte(line, ' ')
	if end < 0 {
		return notTheFormat
	}
	addr, ok := addrWithPort(line[:end])
	if !ok {
		if hasPrefix(line, "unix:") {
			return unixSocket
		}
		return badAddr
	}
	f.addr = addr
	line = line[end+1:]
	if !hasPrefix(line, "[") {
		return notTheFormat
	}
	at, n, ok := p.clock.clf(line[1:])
	if !ok || !hasPrefix(line[1+n:], "] ") {
		return badTime
	}
	f.at = at
	line = line[n+3:]
	for range 3 { // frontend, backend/server, timers
		if end = bytes.IndexByte(line, ' '); end < 0 {
			return notTheFormat
		}
		line = line[end+1:]
	}
	status := 0
	if n := number(line, 3, &status); n == 3 && hasPrefix(line[n:], " ") {
		f.setStatus(status)
	} else if !hasPrefix(line, "-1 ") {
		return notTheFormat // the tcplog has no status
	}
	f.request = haproxyRequest(line)
	return f.event(ev)
}

// haproxyRequest gives what stands between the last two quotes: HAProxy writes
// a client's quote as #22, so that these two are its own.
func haproxyRequest(line []byte) []byte {
	last := len(line) - 1
	if last < 1 || line[last] != '"' {
		return nil
	}
	first := bytes.LastIndexByte(line[:last], '"')
	if first < 0 {
		return nil
	}
	return unhash(line[first+1 : last])
}

// unhash undoes HAProxy's escape #hh, in place.
func unhash(b []byte) []byte {
	r := bytes.IndexByte(b, '#')
	if r < 0 {
		return b
	}
	w := r
	for r < len(b) {
		if b[r] == '#' && r+2 < len(b) && isHex(b[r+1]) && isHex(b[r+2]) {
			b[w] = hex(b[r+1])<<4 | hex(b[r+2])
			r += 2
		} else {
			b[w] = b[r]
		}
		r, w = r+1, w+1
	}
	return b[:w]
}
