package logline

import (
	"net/netip"

	"edgeguard"
)

// MaxLine is how much is read of a line of text, and of a value of a JSON line.
// Servers bound a request line and each header to 8 KiB or so, but write a byte
// as four or six.
const MaxLine = 64 << 10

// parser reads the lines of one file in their order. It is not safe for
// concurrent use, and may change a line in place (escapes are undone there).
type parser interface {
	// parse fills the event, or says why the line gives none. For cutShort the
	// event is filled, without what is missing.
	parse(line []byte, ev *edgeguard.Event) reason
	// sure gives the client of the line that gave no event, if it stands where
	// only the server writes; else the zero Addr.
	sure() netip.Addr
}

// headParser is a parser of lines that need not be read to their ends.
type headParser interface {
	// head is parse for the beginning of a line.
	head(line []byte, ev *edgeguard.Event) reason
}

// streamer is a parser that must see a line's end to know what it says.
type streamer interface {
	stream() stream
}

// stream reads one over-long line in pieces.
type stream interface {
	feed(piece []byte)
	// over reports whether the line is longer than what is read of one: then it
	// gives no event, and the rest is not needed.
	over() bool
	// end fills the event, or says why the line gives none. The event's strings
	// are the stream's.
	end(ev *edgeguard.Event) reason
}

// header is a parser whose file begins with a line that names the columns.
type header interface {
	bind(line []byte) error
}

// reason says why a line was skipped; the empty one that it was not.
type reason string

const (
	read         reason = ""
	notTheFormat reason = "not of this format"
	cutShort     reason = "the end of the path or of another field is missing: raise the limits of the server's log"
	tooLong      reason = "longer than 8 MiB"
	badAddr      reason = "no address where the format has one"
	hostName     reason = "a host name where the address should be: set HostnameLookups Off, or log %a"
	unixSocket   reason = "came over a unix socket: it has no address"
	noAddr       reason = "no client address under a known name"
	badTime      reason = "no time where the format has one"
	farTime      reason = "the time is before 1970 or after 2105"
	overRow      reason = "a row longer than 64 KiB"
)

// told gives the reason of the closed set.
func (r reason) told() edgeguard.Reason {
	switch r {
	case cutShort:
		return edgeguard.FieldCut
	case tooLong, overRow:
		return edgeguard.LineTooLong
	case badAddr, hostName, unixSocket, noAddr:
		return edgeguard.NoClient
	}
	return edgeguard.LineMisfit
}

// fields is what a parser found in a line, before it is an event.
type fields struct {
	addr netip.Addr
	peer netip.Addr
	at   instant

	status, port uint16
	known        edgeguard.Field

	// short says that the end of the line is missing, cut that of the request.
	// raw says that the texts have no escapes any more.
	short, cut, raw bool

	request, method, path, host, agent, node []byte
}

// reset forgets the line before. The texts need no clearing: known says which of
// them hold.
func (f *fields) reset() {
	f.addr, f.peer, f.at = netip.Addr{}, netip.Addr{}, instant{}
	f.status, f.port, f.known = 0, 0, 0
	f.request, f.short, f.cut = nil, false, false
}

// event writes the fields as an event. Escapes are undone here, in place, and
// only in what is handed on.
func (f *fields) event(ev *edgeguard.Event) reason {
	if !f.at.ok() {
		return farTime
	}
	if f.request != nil {
		f.splitRequest()
	}
	kind := edgeguard.KindRequest
	if f.known&edgeguard.FieldStatus != 0 {
		kind |= edgeguard.KindResponse
	}
	*ev = edgeguard.Event{
		Time:     f.at.time(),
		Addr:     f.addr,
		Kind:     kind,
		Verified: kind,
		Proxied:  f.peer.IsValid() && f.peer != f.addr,
		Status:   f.status,
		Port:     f.port,
		Known:    f.known,
		Host:     f.text(edgeguard.FieldHost, f.host),
		Method:   f.text(edgeguard.FieldMethod, f.method),
		Path:     f.text(edgeguard.FieldPath, f.path),
		Agent:    f.text(edgeguard.FieldAgent, f.agent),
		Node:     f.text(edgeguard.FieldNode, f.node),
	}
	if f.short || f.cut {
		return cutShort
	}
	return read
}

// text gives a field that is known without its escapes.
func (f *fields) text(field edgeguard.Field, b []byte) string {
	if f.known&field == 0 {
		return ""
	}
	return text(f.unescaped(b))
}

// unescaped is a function of its own, so that a field which is not known costs no
// call.
//
//go:noinline
func (f *fields) unescaped(b []byte) []byte {
	if f.raw {
		return b
	}
	return unescape(b)
}
