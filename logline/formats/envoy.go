package formats

import (
	"bytes"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/logline/scan"
)

// envoyParser reads
//
//	[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS%
//	%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%"
//	"%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"
//
// as one line. Its only address of a client is the last of X-Forwarded-For, which
// Envoy itself appends if it has use_remote_address: true, as an edge must.
//
// Envoy escapes nothing. So the line is read from both ends up to the two fields
// that may hold a quote, X-Forwarded-For and the agent: neither a target nor what
// lies behind the agent can hold what separates the fields. A line in which these
// two can be parted so that another address is the last is skipped.
// (https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage)
type envoyParser struct{ scan.Clock }

const (
	notRequest scan.Reason = "no request in quotes behind the time"
	notFigures scan.Reason = "no status, flags and figures behind the request"
	notQuoted  scan.Reason = "fewer than five quoted fields behind the figures"
	noClient   scan.Reason = "X-Forwarded-For does not end in an address: Envoy appends the client's with use_remote_address: true"
	twoWays    scan.Reason = "X-Forwarded-For and the agent can be parted in two ways: log %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% in a json_format"
)

// EnvoyCaution is what an operator must know who uses this format.
const EnvoyCaution = "its only address of a client is in X-Forwarded-For, which clients can write unless Envoy has use_remote_address: true"

// NewEnvoy returns the parser of one log in Envoy's default text. Zone is that of times that name none.
func NewEnvoy(zone *time.Location) scan.LineParser {
	return &envoyParser{Clock: scan.Clock{Zone: zone}}
}

// Sure knows none: the address lies behind what a client writes.
func (p *envoyParser) Sure() netip.Addr { return netip.Addr{} }

// Stream keeps a long line: its end tells where the fields are.
func (p *envoyParser) Stream() scan.Stream { return scan.NewWhole(p) }

func (p *envoyParser) Parse(line []byte, ev *edgeguard.Event) scan.Reason {
	f := scan.Fields{Raw: true}
	at, n, ok := scan.Instant{}, 0, scan.HasPrefix(line, "[")
	if ok {
		at, n, ok = p.Clock.ISO(line[1:])
	}
	if !ok || !scan.HasPrefix(line[1+n:], "] ") {
		return scan.BadTime
	}
	f.At = at
	rest, why := figures(&f, line[1+n+len("] "):])
	if why != scan.Read {
		return why
	}
	both, host, ok := quoted(rest)
	if !ok {
		return notQuoted
	}
	f.SetHost(host)
	if why := client(&f, both); why != scan.Read {
		return why
	}
	return f.Event(ev)
}

// figures reads the request, the status and the figures. No target of a request
// that Envoy takes holds a blank.
func figures(f *scan.Fields, line []byte) (rest []byte, why scan.Reason) {
	method, rest, _ := scan.Word(line)
	target, rest, _ := scan.Word(rest)
	protocol, rest, ok := scan.Word(rest)
	if !ok || len(method) < 2 || method[0] != '"' || !bytes.HasSuffix(protocol, []byte{'"'}) || len(target) == 0 {
		return nil, notRequest
	}
	if !scan.HasPrefix(protocol, "HTTP/") && string(protocol) != `-"` {
		return nil, notRequest
	}
	f.SetMethod(method[1:])
	f.SetPath(target)
	status, rest, _ := scan.Word(rest)
	v, ok := scan.SmallNumber(status)
	if !ok && string(status) != "-" {
		return nil, notFigures
	}
	f.SetStatus(v) // 0 is none
	for range 5 {  // flags, two sizes, two durations
		if _, rest, ok = scan.Word(rest); !ok {
			return nil, notFigures
		}
	}
	if !scan.HasPrefix(rest, `"`) {
		return nil, notFigures
	}
	return rest[1:], scan.Read
}

// quoted takes the upstream's address, the authority and the request's id off the
// end, and returns what lies before, as X-Forwarded-For" "agent.
func quoted(b []byte) (both, host []byte, ok bool) {
	for i := range 3 {
		last := len(b) - 1
		if last < 1 || b[last] != '"' {
			return nil, nil, false
		}
		first := bytes.LastIndexByte(b[:last], '"')
		if first < 1 || b[first-1] != ' ' {
			return nil, nil, false
		}
		if i == 1 {
			host = b[first+1 : last]
		}
		b = b[:first-1]
	}
	if len(b) == 0 || b[len(b)-1] != '"' {
		return nil, nil, false
	}
	return b[:len(b)-1], host, true
}

// separator is what lies between two quoted fields.
const separator = `" "`

// client finds the one address that X-Forwarded-For can end in.
func client(f *scan.Fields, both []byte) scan.Reason {
	for from := 0; ; {
		n := bytes.Index(both[from:], []byte(separator))
		if n < 0 {
			break
		}
		at := from + n
		from = at + 1
		addr, ok := lastOf(both[:at])
		switch {
		case !ok:
		case !f.Addr.IsValid():
			f.Addr = addr
			f.SetAgent(both[at+len(separator):])
		case f.Addr != addr:
			return twoWays
		}
	}
	if !f.Addr.IsValid() {
		return noClient
	}
	return scan.Read
}

// lastOf returns the last address of a list. It is behind a comma, or all there is.
func lastOf(list []byte) (netip.Addr, bool) {
	list = bytes.TrimLeft(list[bytes.LastIndexByte(list, ',')+1:], " ")
	addr, n, ok := scan.AddrAt(list)
	return addr, ok && n == len(list)
}
