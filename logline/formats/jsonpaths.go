package formats

import (
	"bytes"
	"net/netip"

	"edgeguard"
	"edgeguard/logline/scan"
)

// pathsParser reads one JSON object a line.
type pathsParser struct {
	paths *JSONPaths
	scan.Clock
	f     scan.Fields
	found [scan.Parts]bool
	why   scan.Reason
}

const (
	pathsNotJSON   scan.Reason = "not a JSON object"
	noAddr         scan.Reason = "no address at the path of addr"
	pathsNoTime    scan.Reason = "no time at the path of time"
	pathsAddrTwice scan.Reason = "has the path of addr twice"
)

func (p *pathsParser) Parse(line []byte, ev *edgeguard.Event) scan.Reason {
	line = bytes.TrimLeft(line, " ") // Samba indents it
	p.f.Reset()
	p.found, p.why = [scan.Parts]bool{}, scan.Read
	end := p.object(line, &p.paths.root)
	switch {
	case end < 0 || len(bytes.TrimSpace(line[end:])) > 0:
		return pathsNotJSON
	case p.paths.marked && p.f.Kind == 0:
		return scan.Aside
	case p.why != scan.Read:
		return p.why
	case !p.found[scan.PartAddr]:
		return noAddr
	case !p.found[scan.PartTime]:
		return pathsNoTime
	}
	return p.f.Event(ev)
}

// Sure knows none: whether a path is there twice is only known at the end.
func (p *pathsParser) Sure() netip.Addr { return netip.Addr{} }

// Stream keeps a long line: its members may be in any order.
func (p *pathsParser) Stream() scan.Stream { return scan.NewWhole(p) }

// object reads the object at the start of b and returns its length, -1 if it is
// none. It goes no deeper than the paths do.
func (p *pathsParser) object(b []byte, n *pathNode) int {
	return scan.JSONObject(b, func(key, rest []byte) int { return p.member(rest, n.at(key)) })
}

// member reads the value at the start of b, which is at the node, if it is one,
// and returns its length.
func (p *pathsParser) member(b []byte, n *pathNode) int {
	if n != nil && len(n.next) > 0 && len(b) > 0 && b[0] == '{' {
		return p.object(b, n)
	}
	size := scan.JSONValue(b)
	if n == nil || size <= 0 {
		return size
	}
	value := b[:size]
	switch value[0] {
	case '"':
		value = value[1 : size-1]
	case '{', '[':
		return size
	}
	if string(value) == "null" && b[0] != '"' {
		return size
	}
	for _, m := range n.marks {
		if string(value) == m.value || m.prefix && bytes.HasPrefix(value, []byte(m.value)) {
			p.f.Kind |= m.kind
		}
	}
	if n.part != scan.PartNone {
		p.take(n.part, value)
	}
	return size
}

// take keeps a value. Of two the first counts, except that no address does: a
// server writes it once.
func (p *pathsParser) take(part scan.LinePart, value []byte) {
	if p.found[part] {
		if part == scan.PartAddr {
			p.why = pathsAddrTwice
		}
		return
	}
	p.found[part] = true
	switch part {
	case scan.PartAddr:
		addr, ok := pathAddr(value)
		if len(value) == 0 || string(value) == "-" {
			p.why = scan.Aside // as Windows writes of a login at the machine itself
		} else if !ok {
			p.why = scan.BadAddr
		}
		p.f.Addr = addr
	case scan.PartTime:
		at, ok := p.Clock.Any(value)
		if !ok && p.why == scan.Read {
			p.why = scan.BadTime
		}
		p.f.At = at
	default:
		p.f.Set(part, value)
	}
}

// pathAddr reads an address, with a port or without; as Samba writes it, too:
// ipv6:2001:db8::1:49152.
func pathAddr(value []byte) (netip.Addr, bool) {
	if len(value) > 5 && bytes.HasPrefix(value, []byte("ipv")) && value[4] == ':' {
		return scan.AddrWithPort(value[5:])
	}
	return scan.AddrMaybePort(value)
}
