package httpauth

import (
	"sync"

	"github.com/valyala/fasthttp"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/sensor/clientaddr"
)

// question is one request to the server on its way to the verdict. Questions
// are kept and used again, so that a pass allocates nothing.
type question struct {
	event  edgeguard.Event
	header *fasthttp.RequestHeader
	// read is the event's Header, bound once.
	read  func(name string) (string, bool)
	lines [maxLines]string
	// part says that the header was over the limit, so that only what describes
	// the request was read; noPath that the path is not whole.
	part, noPath bool
}

// maxLines is how many lines of one header are read, from the last; the
// first of more are as good as absent.
const maxLines = clientaddr.MaxHops

var questions = sync.Pool{New: func() any {
	q := &question{}
	q.read = func(name string) (string, bool) { return q.value(name) }
	return q
}}

// newQuestion returns a question that reads a header, for as long as that is there
// and until end.
func newQuestion(h *fasthttp.RequestHeader) *question {
	q := questions.Get().(*question)
	q.header = h
	return q
}

func (q *question) end() {
	q.event, q.header, q.part, q.noPath = edgeguard.Event{}, nil, false, false
	questions.Put(q)
}

// value returns a header's first value.
func (q *question) value(name string) (string, bool) {
	v := q.header.Peek(name)
	return unsafetext.String(v), v != nil
}

// values returns a header's values, in the order of their arrival.
func (q *question) values(name string) []string {
	all := q.header.PeekAll(name)
	all = all[max(0, len(all)-maxLines):]
	for i, v := range all {
		q.lines[i] = unsafetext.String(v)
	}
	return q.lines[:len(all)]
}

// describe fills in what a trusted peer says of the request that it asks for.
func (q *question) describe(p protocol, rest string) {
	e := &q.event
	switch p {
	case protocolNginx:
		q.take(&e.Method, edgeguard.FieldMethod, "X-Original-Method")
		q.take(&e.Path, edgeguard.FieldPath, "X-Original-Uri")
		q.take(&e.Host, edgeguard.FieldHost, "Host")
	case protocolForward:
		q.take(&e.Method, edgeguard.FieldMethod, "X-Forwarded-Method")
		q.take(&e.Path, edgeguard.FieldPath, "X-Forwarded-Uri")
		q.take(&e.Host, edgeguard.FieldHost, "X-Forwarded-Host")
	case protocolEnvoy:
		e.Method, e.Path = unsafetext.String(q.header.Method()), rest
		e.Known |= edgeguard.FieldMethod | edgeguard.FieldPath
		q.take(&e.Host, edgeguard.FieldHost, "Host")
	}
	if q.noPath {
		e.Path, e.Known = "", e.Known&^edgeguard.FieldPath
	}
	e.Agent = unsafetext.String(q.header.UserAgent())
	e.Known |= edgeguard.FieldAgent
	// One that is missing is not known: the proxy may not pass it on.
	q.take(&e.Referer, edgeguard.FieldReferer, "Referer")
	q.take(&e.FetchSite, edgeguard.FieldFetchSite, "Sec-Fetch-Site")
	if !q.part {
		e.Header = q.read
		e.Known |= edgeguard.FieldHeader
	}
}

// take reads one field from a header, if that is there.
func (q *question) take(field *string, known edgeguard.Field, name string) {
	if value, ok := q.value(name); ok {
		*field = value
		q.event.Known |= known
	}
}
