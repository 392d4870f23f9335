package spoe

import (
	"net/netip"
	"strings"

	"edgeguard"
	"edgeguard/haproxy/spop"
	"edgeguard/internal/unsafetext"
)

// headerArg begins the name of an argument that is a header of the request, such as
// header:x-api-key.
const headerArg = "header:"

// mostHeaders bounds the headers of one request, which a connection keeps room for:
// it is how many arguments a message of HAProxy may have.
const mostHeaders = 255

// question is one request on its way to the verdict. A connection uses it again for
// each, so that a pass allocates nothing.
type question struct {
	event   edgeguard.Event
	headers []header
	// read is the event's Header, bound once.
	read func(name string) (string, bool)
}

// header is one of the headers that HAProxy sends.
type header struct{ name, value string }

func newQuestion() *question {
	q := &question{}
	q.read = q.header
	return q
}

// header returns a header's value. Rules ask for names in lower case.
func (q *question) header(name string) (string, bool) {
	for _, h := range q.headers {
		if strings.EqualFold(h.name, name) {
			return h.value, true
		}
	}
	return "", false
}

// take reads what HAProxy says of a request. The texts point into the frame.
func (q *question) take(f spop.Frame) error {
	q.event, q.headers = edgeguard.Event{}, q.headers[:0]
	n := spop.ReadNotify(f.Payload)
	for n.NextArg() {
		q.argument(unsafetext.String(n.ArgName()), n.Value())
	}
	return n.Err()
}

func (q *question) argument(name string, v spop.Value) {
	e := &q.event
	switch name {
	case "src":
		if addr, ok := v.Addr(); ok && usable(addr) {
			e.Addr = addr
		}
	case "host":
		q.text(&e.Host, edgeguard.FieldHost, v)
	case "method":
		q.text(&e.Method, edgeguard.FieldMethod, v)
	case "path":
		q.text(&e.Path, edgeguard.FieldPath, v)
	case "agent":
		q.text(&e.Agent, edgeguard.FieldAgent, v)
	case "referer":
		q.text(&e.Referer, edgeguard.FieldReferer, v)
	case "fetch_site":
		q.text(&e.FetchSite, edgeguard.FieldFetchSite, v)
	default:
		q.maybeHeader(name, v)
	}
}

// usable reports whether an address can be a client's: HAProxy has none for a request
// that came over a unix socket, and set-src may make 0.0.0.0 of a bad header.
func usable(addr netip.Addr) bool { return addr.IsValid() && !addr.IsUnspecified() }

// text fills in one field. One that HAProxy looked for and that the request does not
// have is known to be empty.
func (q *question) text(field *string, known edgeguard.Field, v spop.Value) {
	text, ok := v.Text()
	if !ok && !v.IsNull() {
		return
	}
	*field = unsafetext.String(text)
	q.event.Known |= known
}

func (q *question) maybeHeader(arg string, v spop.Value) {
	name, isHeader := strings.CutPrefix(arg, headerArg)
	if !isHeader {
		return
	}
	q.event.Header = q.read
	q.event.Known |= edgeguard.FieldHeader
	if text, ok := v.Text(); ok && len(q.headers) < mostHeaders {
		q.headers = append(q.headers, header{name, unsafetext.String(text)})
	}
}
