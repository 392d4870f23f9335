package formats

import (
	"bytes"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/logline/scan"
)

// jsonParser reads one JSON object a line, by the names that Caddy, Traefik,
// Envoy, Cloudflare's Logpush, AWS WAF and the usual nginx formats give their
// fields (see json_names.go).
//
// It scans by hand: encoding/json takes ten times as long, and refuses the
// \x22 that nginx writes without escape=json.
type jsonParser struct {
	scan.Clock
	f    scan.Fields
	rank [jsonParts]uint8 // of what was found, 0 for nothing
	why  scan.Reason
	// AWS WAF writes the query and the headers in parts. Whole says that the values
	// are in one line, where its path and query can become one in place.
	whole             bool
	path              []byte
	headName, headVal []byte
}

const (
	notJSON   scan.Reason = "not a JSON object"
	noTime    scan.Reason = "no time under a known name"
	addrTwice scan.Reason = "names its address twice"
)

// jsonLevel is how deep a member stands. Caddy nests request, and headers in it; AWS WAF
// httpRequest, and a list of headers in it.
type jsonLevel uint8

const (
	jsonTop jsonLevel = iota
	jsonRequest
	jsonHeaders
	jsonWAF
	jsonHeader
)

// into returns the level of the object under a key, if it is looked into.
func (l jsonLevel) into(key []byte) (jsonLevel, bool) {
	switch {
	case l == jsonTop && string(key) == "request":
		return jsonRequest, true
	case l == jsonTop && string(key) == "httpRequest":
		return jsonWAF, true
	case l == jsonRequest && string(key) == "headers":
		return jsonHeaders, true
	}
	return jsonTop, false
}

// outer returns the level around an object.
func (l jsonLevel) outer() jsonLevel {
	if l == jsonHeaders {
		return jsonRequest
	}
	return jsonTop
}

// NewJSON returns the parser of one log. Zone is that of times that name none.
func NewJSON(zone *time.Location) scan.LineParser { return &jsonParser{Clock: scan.Clock{Zone: zone}} }

func (p *jsonParser) Parse(line []byte, ev *edgeguard.Event) scan.Reason {
	p.f, p.rank, p.why, p.whole = scan.Fields{}, [jsonParts]uint8{}, scan.Read, true
	end := p.object(line, jsonTop)
	return p.finish(end >= 0 && len(bytes.TrimSpace(line[end:])) == 0, ev)
}

// finish makes the event of what was found, if that was the whole object.
func (p *jsonParser) finish(whole bool, ev *edgeguard.Event) scan.Reason {
	switch {
	case p.why != scan.Read:
		return p.why
	case !whole:
		return notJSON
	case p.rank[scan.PartAddr] == 0 && p.rank[jsonPeer] == 0:
		return scan.NoAddr
	}
	if p.rank[scan.PartTime] == 0 {
		at, ok := p.Clock.Written()
		if !ok {
			return noTime
		}
		p.f.At = at
	}
	if p.rank[scan.PartAddr] == 0 {
		p.f.Addr, p.f.Peer = p.f.Peer, p.f.Addr
	}
	return p.f.Event(ev)
}

// Sure knows none: which name counts is only known at the end.
func (p *jsonParser) Sure() netip.Addr { return netip.Addr{} }

// object reads the object at the start of b and returns its length, -1 if it is
// none.
func (p *jsonParser) object(b []byte, level jsonLevel) int {
	return scan.JSONObject(b, func(key, rest []byte) int { return p.member(key, rest, level) })
}

// member takes the value at the start of b for what its key says, and returns
// its length.
func (p *jsonParser) member(key, b []byte, level jsonLevel) int {
	if len(b) > 0 && b[0] == '{' {
		if inner, ok := level.into(key); ok {
			return p.object(b, inner)
		}
	}
	n := scan.JSONValue(b)
	if n < 0 {
		return -1
	}
	if name := jsonName(key, level); name.rank != 0 {
		p.use(name, level, b[:n])
	}
	return n
}

// use keeps what a value says.
func (p *jsonParser) use(name jsonMeaning, level jsonLevel, value []byte) {
	if len(value) == 0 {
		return
	}
	if name.part == jsonHeaderList {
		p.headers(value)
		return
	}
	if value[0] == '[' { // a header's values
		inner := scan.JSONBlank(value, 1)
		m := scan.JSONValue(value[inner:])
		if m <= 0 {
			return
		}
		value = value[inner : inner+m]
	}
	if value[0] == '"' {
		value = value[1 : len(value)-1]
	} else if value[0] == '{' || string(value) == "null" {
		return
	}
	if level == jsonRequest && name.part == scan.PartPath {
		value = escapeHash(value)
	}
	p.take(name, value)
}

// take keeps a value, unless a better name has given one.
func (p *jsonParser) take(name jsonMeaning, value []byte) {
	old := p.rank[name.part]
	if old == name.rank && (name.part == scan.PartAddr || name.part == jsonPeer) {
		p.why = addrTwice
		return
	}
	if old != 0 && old <= name.rank {
		return
	}
	p.rank[name.part] = name.rank
	switch name.part {
	case scan.PartAddr, jsonPeer:
		addr, ok := scan.AddrMaybePort(value)
		if !ok {
			p.why = scan.BadAddr
		} else if name.part == jsonPeer {
			p.f.Peer = addr
		} else {
			p.f.Addr = addr
		}
	case scan.PartTime:
		at, ok := p.Clock.Any(value)
		if !ok {
			p.why = scan.BadTime
		}
		p.f.At = at
	case scan.PartPath:
		p.path = value
		p.f.SetPath(value)
	case jsonArgs:
		p.addArgs(value)
	case jsonHeaderName:
		p.headName = value
	case jsonHeaderValue:
		p.headVal = value
	default:
		p.f.Set(name.part, value)
	}
}
