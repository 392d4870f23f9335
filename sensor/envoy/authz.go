package envoy

import (
	"strings"
)

// This file reads and writes the messages of Envoy's external authorization by gRPC,
// envoy.service.auth.v3.Authorization/Check: a request that waits, and whether it may go on.

// CheckMethod is the path of the call.
const CheckMethod = "/envoy.service.auth.v3.Authorization/Check"

// CheckRequest is what Envoy says of a request. Its texts point into the message.
type CheckRequest struct {
	// Source is the address of the last hop, as text; empty where it has none.
	Source string
	// Host, Method and Path, with its query, are as the client sent them.
	Host, Method, Path string
	// Headers are those that Envoy sends as a map, where a name's last entry holds, and
	// Lines those that it sends as they came (encode_raw_headers). Names are in lower case.
	Headers, Lines []CheckHeader
}

// CheckHeader is a line of a request's or an answer's header.
type CheckHeader struct{ Name, Value string }

// Header returns a header's value, and of several lines the first.
func (r *CheckRequest) Header(name string) (string, bool) {
	for i := range r.Lines {
		if strings.EqualFold(r.Lines[i].Name, name) {
			return r.Lines[i].Value, true
		}
	}
	for i := len(r.Headers) - 1; i >= 0; i-- {
		if strings.EqualFold(r.Headers[i].Name, name) {
			return r.Headers[i].Value, true
		}
	}
	return "", false
}

// AppendLines appends a header's lines, in the order of their arrival.
func (r *CheckRequest) AppendLines(out []string, name string) []string {
	before := len(out)
	for i := range r.Lines {
		if strings.EqualFold(r.Lines[i].Name, name) {
			out = append(out, r.Lines[i].Value)
		}
	}
	if len(out) > before {
		return out
	}
	if value, ok := r.Header(name); ok {
		out = append(out, value)
	}
	return out
}

// Read reads a CheckRequest, and reports whether it can be read.
func (r *CheckRequest) Read(message []byte) bool {
	*r = CheckRequest{Headers: r.Headers[:0], Lines: r.Lines[:0]}
	m := fieldsOf(message)
	for m.Next() {
		if m.Number() == 1 && !r.attributes(m.Message()) {
			return false
		}
	}
	return m.Good()
}

// attributes reads an AttributeContext.
func (r *CheckRequest) attributes(m fieldReader, _ bool) bool {
	for m.Next() {
		good := true
		switch m.Number() {
		case 1: // source
			good = r.peer(m.Message())
		case 4: // request
			good = r.request(m.Message())
		}
		if !good {
			return false
		}
	}
	return m.Good()
}

// peer reads an AttributeContext.Peer.
func (r *CheckRequest) peer(m fieldReader, _ bool) bool {
	for m.Next() {
		if m.Number() == 1 && !r.address(m.Message()) {
			return false
		}
	}
	return m.Good()
}

// address reads an Address, which is one of several: the last one holds.
func (r *CheckRequest) address(m fieldReader, _ bool) bool {
	for m.Next() {
		of, isMessage := m.Message()
		switch {
		case !isMessage:
		case m.Number() == 1: // socket_address
			for of.Next() {
				if of.Number() == 2 { // address
					of.Text(&r.Source)
				}
			}
			if !of.Good() {
				return false
			}
		case m.Number() == 2 || m.Number() == 3: // pipe, envoy_internal_address
			r.Source = ""
		}
	}
	return m.Good()
}

// request reads an AttributeContext.Request.
func (r *CheckRequest) request(m fieldReader, _ bool) bool {
	for m.Next() {
		if m.Number() == 2 && !r.http(m.Message()) {
			return false
		}
	}
	return m.Good()
}

// http reads an AttributeContext.HttpRequest.
func (r *CheckRequest) http(m fieldReader, _ bool) bool {
	for m.Next() {
		good := true
		switch m.Number() {
		case 2:
			m.Text(&r.Method)
		case 3: // headers: a map
			good = header(&r.Headers, m, false)
		case 4:
			m.Text(&r.Path)
		case 5:
			m.Text(&r.Host)
		case 13: // header_map, if Envoy's encode_raw_headers is set
			good = r.headers(m.Message())
		}
		if !good {
			return false
		}
	}
	return m.Good()
}

// headers reads a HeaderMap.
func (r *CheckRequest) headers(m fieldReader, _ bool) bool {
	for m.Next() {
		if m.Number() == 1 && !header(&r.Lines, m, true) {
			return false
		}
	}
	return m.Good()
}

// header reads a name and its value. They are the first two fields of an entry of a map and
// of a HeaderValue, and the raw value, the third of the latter, holds unless it is empty.
func header(into *[]CheckHeader, field fieldReader, hasRaw bool) bool {
	m, isMessage := field.Message()
	if !isMessage {
		return true
	}
	var h CheckHeader
	var raw string
	for m.Next() {
		switch m.Number() {
		case 1:
			m.Text(&h.Name)
		case 2:
			m.Text(&h.Value)
		case 3:
			m.Text(&raw)
		}
	}
	if hasRaw && raw != "" {
		h.Value = raw
	}
	*into = append(*into, h)
	return m.Good()
}

// The codes of an answer, which are those of gRPC.
const (
	codeOK     = 0
	codeDenied = 7
)

// CheckAnswer is what becomes of a request.
type CheckAnswer struct {
	// Denied refuses it with the HTTP status, headers and body.
	Denied  bool
	Status  int
	Headers []CheckHeader
	Body    []byte
	// Metadata is what Envoy's access log can show of the answer.
	Metadata []CheckHeader
}

// Append appends the CheckResponse.
func (a *CheckAnswer) Append(out []byte) []byte {
	out = AppendMessage(out, 1, func(out []byte) []byte { // status
		if a.Denied {
			return AppendWhole(out, 1, codeDenied)
		}
		return AppendWhole(out, 1, codeOK)
	})
	if a.Denied {
		out = AppendMessage(out, 2, a.denied) // denied_response
	} else {
		out = AppendMessage(out, 3, func(out []byte) []byte { return out }) // ok_response
	}
	if len(a.Metadata) > 0 {
		out = AppendMessage(out, 4, a.metadata) // dynamic_metadata
	}
	return out
}

// denied appends a DeniedHttpResponse.
func (a *CheckAnswer) denied(out []byte) []byte {
	out = AppendMessage(out, 1, func(out []byte) []byte { // status
		return AppendWhole(out, 1, uint64(a.Status))
	})
	for _, h := range a.Headers {
		out = AppendMessage(out, 2, func(out []byte) []byte { // HeaderValueOption
			out = AppendMessage(out, 1, h.append)
			return AppendWhole(out, 3, overwrites)
		})
	}
	return AppendText(out, 3, string(a.Body))
}

// overwrites is HeaderValueOption.append_action: a header of the answer is set, not added.
const overwrites = 2

// append appends a HeaderValue.
func (h CheckHeader) append(out []byte) []byte {
	return AppendText(AppendText(out, 1, h.Name), 2, h.Value)
}

// metadata appends a google.protobuf.Struct of texts.
func (a *CheckAnswer) metadata(out []byte) []byte {
	for _, m := range a.Metadata {
		out = AppendMessage(out, 1, func(out []byte) []byte { // an entry of the map
			out = AppendText(out, 1, m.Name)
			return AppendMessage(out, 2, func(out []byte) []byte { // Value
				return AppendText(out, 3, m.Value)
			})
		})
	}
	return out
}
