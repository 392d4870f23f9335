package formats

import (
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/logline/scan"
)

// albParser reads an entry:
//
//	http 2018-07-02T22:23:00.186641Z app/lb/50dc 192.0.2.1:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET http://h:80/ HTTP/1.1" "curl/7.46.0" …
//
// A Classic Load Balancer writes no type. The time, the address and the status come before
// anything that a client writes. The balancer writes a target as it was sent, a quote included. So a target
// ends at a blank, which it cannot contain, and not at a quote.
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html)
type albParser struct {
	scan.Clock
	addr netip.Addr // of the last line
}

const (
	notALBType   scan.Reason = "the first field is not http, https, h2, grpcs, ws or wss, nor a time"
	notALBFields scan.Reason = "fewer fields than an entry of a load balancer"
)

// NewALB returns the parser of one log of AWS Application Load Balancers or Classic ones. Zone is that of times that name none.
func NewALB(zone *time.Location) scan.LineParser {
	return &albParser{Clock: scan.Clock{Zone: zone}}
}

func (p *albParser) Sure() netip.Addr { return p.addr }

// Head reads the beginning of a line as Parse does: what is missing is a client's.
func (p *albParser) Head(line []byte, ev *edgeguard.Event) scan.Reason {
	if why := p.Parse(line, ev); why != scan.Read {
		return why
	}
	return scan.CutShort
}

func (p *albParser) Parse(line []byte, ev *edgeguard.Event) scan.Reason {
	p.addr = netip.Addr{}
	f := scan.Fields{Raw: true}
	word, rest, _ := scan.Word(line)
	classic := !isALBType(word)
	if !classic {
		word, rest, _ = scan.Word(rest)
	}
	at, n, ok := p.Clock.ISO(word)
	switch {
	case ok && n == len(word):
	case classic:
		return notALBType
	default:
		return scan.BadTime
	}
	f.At = at
	_, rest, _ = scan.Word(rest) // the balancer's name
	word, rest, _ = scan.Word(rest)
	if f.Addr, ok = scan.AddrWithPort(word); !ok && classic {
		return notALBType
	} else if !ok {
		return scan.BadAddr
	}
	p.addr = f.Addr
	for range 4 { // the target, and three durations
		_, rest, _ = scan.Word(rest)
	}
	word, rest, _ = scan.Word(rest)
	f.Set(scan.PartStatus, word)
	for range 3 { // the target's status, and two sizes
		_, rest, _ = scan.Word(rest)
	}
	if len(rest) == 0 || rest[0] != '"' {
		return notALBFields
	}
	albRequest(&f, rest[1:])
	return f.Event(ev)
}

// albRequest reads what a client wrote: the request, and the agent behind it.
func albRequest(f *scan.Fields, b []byte) {
	method, rest, ok := scan.Word(b)
	if !ok {
		f.Short = true
		return
	}
	f.SetMethod(method)
	target, rest, ok := scan.Word(rest)
	if !ok {
		f.Short = true
		f.SetCutPath(target)
		return
	}
	if f.Known&edgeguard.FieldMethod != 0 {
		f.SetURL(target)
	}
	if end := scan.QuoteEnd(rest, 0); end >= 0 && scan.HasPrefix(rest[end+1:], ` "`) {
		rest = rest[end+len(`" "`):]
		if end = scan.QuoteEnd(rest, 0); end >= 0 {
			f.SetAgent(rest[:end])
			return
		}
	}
	f.Short = true
}

// isALBType reports whether the balancer names a protocol so.
func isALBType(b []byte) bool {
	switch string(b) {
	case "http", "https", "h2", "grpcs", "ws", "wss":
		return true
	}
	return false
}
