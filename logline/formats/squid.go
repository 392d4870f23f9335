package formats

import (
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/logline/scan"
)

// squidParser reads a line of
//
//	logformat squid %ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt
//	1286536309.450    180 192.0.2.1 TCP_MISS/200 411 GET http://example.org/a - HIER_DIRECT/198.51.100.2 text/plain
//
// The time, the address and the status come
// before anything that a client writes.
// (https://wiki.squid-cache.org/Features/LogFormat)
type squidParser struct {
	addr netip.Addr // of the last line
}

const (
	notDuration     scan.Reason = "no duration behind the time"
	notResult       scan.Reason = "no result such as TCP_MISS/200 behind the address"
	squidNotRequest scan.Reason = "no method and URL behind the size"
	overUDP         scan.Reason = "a question of another cache over UDP: its sender can be forged"
)

// NewSquid returns the parser of one Squid's native access.log. A time here never lacks its zone.
func NewSquid(*time.Location) scan.LineParser { return &squidParser{} }

func (p *squidParser) Sure() netip.Addr { return p.addr }

// Head reads the beginning of a line as Parse does: what is missing is a client's.
func (p *squidParser) Head(line []byte, ev *edgeguard.Event) scan.Reason {
	if why := p.Parse(line, ev); why != scan.Read {
		return why
	}
	return scan.CutShort
}

func (p *squidParser) Parse(line []byte, ev *edgeguard.Event) scan.Reason {
	p.addr = netip.Addr{}
	f := scan.Fields{Raw: true}
	rest, why := p.begin(&f, line)
	if why != scan.Read {
		return why
	}
	result, rest, ok := scan.Word(rest)
	status := 0
	n := len(result) - len("/200")
	if !ok || n < 1 || result[n] != '/' || scan.Number(result[n+1:], 3, &status) == 0 {
		return notResult
	}
	if scan.HasPrefix(result, "UDP_") {
		p.addr = netip.Addr{}
		return overUDP
	}
	f.SetStatus(status) // 000 is none
	_, rest, _ = scan.Word(rest)
	method, rest, ok := scan.Word(rest)
	if !ok {
		return squidNotRequest
	}
	f.SetMethod(method)
	target, _, ok := scan.Word(rest)
	switch {
	case !ok:
		f.Short = true
		f.SetCutPath(target)
	case scan.HasPrefix(target, "error:"): // Squid's own word for what is not a request
	case string(method) == "CONNECT":
		f.SetHost(target)
		f.SetPath(target)
	default:
		f.SetURL(target)
	}
	return f.Event(ev)
}

// begin reads the time, the duration and the address.
func (p *squidParser) begin(f *scan.Fields, line []byte) (rest []byte, why scan.Reason) {
	at, n, ok := scan.UnixNumber(line, 1)
	if !ok || n < len("1286536309.450") || !scan.HasPrefix(line[n:], " ") {
		return nil, scan.BadTime
	}
	f.At = at
	for n < len(line) && line[n] == ' ' {
		n++
	}
	duration, rest, ok := scan.Word(line[n:])
	if !ok || !isNumber(duration) {
		return nil, notDuration
	}
	addr, n, ok := scan.AddrAt(rest)
	if !ok || !scan.HasPrefix(rest[n:], " ") {
		if scan.WhyNoAddr(rest) == scan.HostName {
			return nil, scan.HostName
		}
		return nil, scan.BadAddr
	}
	f.Addr, p.addr = addr, addr
	return rest[n+1:], scan.Read
}

// isNumber reports whether b is a whole number, which may be negative: a clock
// that was set back makes such a duration.
func isNumber(b []byte) bool {
	if len(b) > 1 && b[0] == '-' {
		b = b[1:]
	}
	for _, c := range b {
		if !scan.IsDigit(c) {
			return false
		}
	}
	return len(b) > 0
}
